// SPDX-License-Identifier: Apache-2.0
//
// TransportCourier: sends and receives the cells of fields over a transport.
//
// Ownership: borrows the transport. Threads: one at a time. Errors: TransportError, at the latest
// when a step's timeout has passed.
#pragma once

#include <chrono>

#include "tensor/tiling/courier.h"
#include "transport/transport.h"

namespace tandem::apps {

class TransportCourier final : public tiling::Courier {
 public:
  TransportCourier(transport::Transport& transport, std::chrono::milliseconds timeout)
      : transport_(transport), timeout_(timeout) {}

  int rank() const override { return transport_.rank(); }
  int num_ranks() const override { return transport_.world(); }
  std::unique_ptr<tiling::Delivery> start(std::vector<tiling::Parcel> sends,
                                          std::vector<int> sources) override;

 private:
  transport::Transport& transport_;
  std::chrono::milliseconds timeout_;
  transport::Tag step_ = 0;
};

}  // namespace tandem::apps
