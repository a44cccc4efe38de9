// SPDX-License-Identifier: Apache-2.0
//
// SinkHold: holds the engine's thread in a sink, so that what a test does meanwhile comes before
// the next step, however late the test's thread runs.
//
// It outlives the engine. Threads: hold() the engine's, the rest the test's.
#pragma once

#include <atomic>
#include <future>

namespace tandem::engine {

class SinkHold {
 public:
  // Waits for open(), the first time that it is called.
  void hold() {
    if (was_held_.exchange(true)) return;
    held_.set_value();
    opened_.get_future().wait();
  }
  void wait_until_held() { held_.get_future().wait(); }
  void open() { opened_.set_value(); }

 private:
  std::atomic<bool> was_held_{false};
  std::promise<void> held_, opened_;
};

}  // namespace tandem::engine
