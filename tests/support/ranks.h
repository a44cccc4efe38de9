// SPDX-License-Identifier: Apache-2.0
//
// Runs a body on n ranks, each a thread with its inproc transport, and joins them.
//
// The first exception that a rank throws is rethrown after all ranks have ended; before that its
// transport is aborted, so that the others end too.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "transport/inproc/inproc.h"

namespace tandem::test {

inline void run_ranks(int world,
                      const std::function<void(std::unique_ptr<transport::Transport>)>& body) {
  auto transports = transport::inproc::make_world(world);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(world));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    threads.emplace_back([&body, &errors, at, transport = std::move(transports[at])]() mutable {
      transport::Transport* borrowed = transport.get();
      try {
        body(std::move(transport));
      } catch (...) {
        errors[at] = std::current_exception();
        if (transport) borrowed->abort("a test failed");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace tandem::test
