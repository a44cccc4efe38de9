// SPDX-License-Identifier: Apache-2.0
//
// HeldRuns: holds started runs with a callback until the callback was called.
//
// XRT's thread for callbacks refers to such a run and to its device, but holds neither. A program
// that drops both during the run would crash. Runs that libxilinxopencl makes are not held: it
// holds them itself. Cost of a start without callbacks: a load. Threads: any.
#pragma once

#include <xrt/xrt_kernel.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>

namespace tandem::emulation {

class HeldRuns {
 public:
  // Those of this process: a forked child has none.
  static HeldRuns& instance();

  // A run was made. XRT may give it the packet of an earlier one.
  void made(const xrt::run& run);
  // Call it when a callback was added. Returns whether the caller must add one that calls ended().
  bool gets_callback(const xrt::run& run);
  // Before and after a start.
  void starts(const xrt::run& run);
  void start_failed(const xrt::run& run);
  // Call it in a callback of the run. It may destroy the run, and with it the device.
  static void ended(const void* packet);

 private:
  struct Entry {
    int num_started = 0;
    std::optional<xrt::run> run;  // while it is started
  };
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::map<const void*, Entry> entries_;  // by packet; runs with a callback
};

}  // namespace tandem::emulation
