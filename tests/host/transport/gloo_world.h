// SPDX-License-Identifier: Apache-2.0
//
// Groups of gloo ranks in one process: a thread and a context each, over loopback.
//
// Every group gets a store directory of its own, removed at the end. Threads: run_gloo_ranks joins
// all it starts; the first exception of a rank is rethrown after that.
#pragma once

#include <unistd.h>

#include <atomic>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "transport/gloo/gloo.h"

namespace tandem::test {

class StoreDirectory {
 public:
  StoreDirectory() {
    static std::atomic<int> number{0};
    path_ = std::filesystem::temp_directory_path() /
            ("tandem-gloo-" + std::to_string(getpid()) + "-" + std::to_string(number++));
    std::filesystem::remove_all(path_);
  }
  ~StoreDirectory() { std::filesystem::remove_all(path_); }
  StoreDirectory(const StoreDirectory&) = delete;
  StoreDirectory& operator=(const StoreDirectory&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline transport::gloo::Options gloo_options(const StoreDirectory& store, int rank, int world) {
  transport::gloo::Options options;
  options.rank = rank;
  options.world = world;
  options.store_directory = store.path();
  options.address = "127.0.0.1";
  return options;
}

// Runs `body` with each options' transport, in threads of their own.
inline void run_gloo_ranks(const std::vector<transport::gloo::Options>& ranks,
                           const std::function<void(std::unique_ptr<transport::Transport>)>& body) {
  std::vector<std::exception_ptr> errors(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    threads.emplace_back([&, at] {
      try {
        body(transport::gloo::connect(ranks[at]));
      } catch (...) {
        errors[at] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

inline void run_gloo_ranks(int world,
                           const std::function<void(std::unique_ptr<transport::Transport>)>& body) {
  const StoreDirectory store;
  std::vector<transport::gloo::Options> ranks;
  for (int rank = 0; rank < world; ++rank) ranks.push_back(gloo_options(store, rank, world));
  run_gloo_ranks(ranks, body);
}

}  // namespace tandem::test
