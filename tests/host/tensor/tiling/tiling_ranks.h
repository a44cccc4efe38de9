// SPDX-License-Identifier: Apache-2.0
//
// Runs a body on ranks that are threads, each with a courier and a pool; and fields of points.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "apps/collectives/stencil/transport_courier.h"
#include "common/thread_pool.h"
#include "support/ranks.h"

namespace tandem::tiling {

inline void run_couriers(int ranks, int threads,
                         const std::function<void(Courier&, ThreadPool&)>& body) {
  test::run_ranks(ranks, [&](std::unique_ptr<transport::Transport> transport) {
    apps::TransportCourier courier(*transport, std::chrono::seconds(60));
    ThreadPool pool({threads, Pin::kOff});
    body(courier, pool);
  });
}

}  // namespace tandem::tiling
