// SPDX-License-Identifier: Apache-2.0
//
// A world of nccl ranks as threads, one GPU each.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "transport/nccl/nccl.h"

namespace tandem::transport::nccl {

// Runs body(transport) on every rank; returns what each threw, empty where nothing.
inline std::vector<std::string> run_world(int world, const std::function<void(Transport&)>& body,
                                          const Options& common = {}) {
  const UniqueId id = make_unique_id();
  std::vector<std::string> errors(static_cast<std::size_t>(world));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        Options options = common;
        options.rank = rank;
        options.world = world;
        options.id = id;
        options.device_index = rank;
        const auto transport = connect(options);
        body(*transport);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace tandem::transport::nccl
