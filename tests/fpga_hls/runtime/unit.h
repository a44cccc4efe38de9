// SPDX-License-Identifier: Apache-2.0
//
// A compute unit for tests: a scheduler on its own thread, and dataflow regions in the form of
// rewritten kernels.
#pragma once

#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "fpga_hls/runtime/scheduler.h"

extern "C" {
void* tandem_region_open();
void tandem_region_start(void* region, const char* name, void (*body)(void*), void* argument);
void tandem_region_start_using(void* region, const char* name, void (*body)(void*), void* argument,
                               const tandem_use* uses, std::size_t count);
void tandem_region_await_turn();
void tandem_region_join(void* region);
void tandem_region_drop(void* region);
}

namespace tandem::hls_runtime_test {

using hls_runtime::End;
using hls_runtime::Scheduler;
using hls_runtime::UnitGroup;

class Region {
 public:
  Region() : region_(tandem_region_open()) {}
  ~Region() { tandem_region_drop(region_); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  template <typename Body>
  void start(const char* name, Body body) {
    tandem_region_start(
        region_, name,
        [](void* argument) {
          Body own(*static_cast<Body*>(argument));
          own();
        },
        &body);
  }
  // A process that writes `memory`.
  template <typename Body, typename Memory>
  void start_using(Memory& memory, const char* name, Body body) {
    const tandem_use use{&memory, sizeof(memory), 1};
    tandem_region_start_using(
        region_, name,
        [](void* argument) {
          Body own(*static_cast<Body*>(argument));
          tandem_region_await_turn();
          own();
        },
        &body, &use, 1);
  }
  void join() { tandem_region_join(region_); }

 private:
  void* region_;
};

struct Outcome {
  End end;
  std::string message;
};

// Runs kernels one after the other, each on a fresh thread-bound scheduler of the same unit.
class Unit {
 public:
  explicit Unit(std::string name = "unit_1", UnitGroup* group = nullptr, bool free_running = false,
                uint32_t drain_passes = 1 << 24, bool keeps_depths = false,
                hls_runtime::DepthTrial* trial = nullptr)
      : scheduler_({std::move(name), group, free_running, [this] { return cancelled.load(); },
                    drain_passes, keeps_depths, keeps_depths, trial}) {}

  explicit Unit(hls_runtime::UnitSettings settings) : scheduler_(std::move(settings)) {}

  // Calls `kernel` `times` times on the unit's thread; the first outcome that is not kDone, else
  // the last.
  Outcome run(const std::function<void()>& kernel, int times = 1) {
    Outcome outcome{End::kDone, {}};
    std::thread([&] { outcome = run_here(kernel, times); }).join();
    return outcome;
  }
  std::future<Outcome> start(std::function<void()> kernel) {
    return std::async(std::launch::async, [this, kernel] { return run_here(kernel, 1); });
  }
  Scheduler& scheduler() { return scheduler_; }

  std::atomic<bool> cancelled{false};

 private:
  Outcome run_here(const std::function<void()>& kernel, int times) {
    Outcome outcome{End::kDone, {}};
    scheduler_.adopt_thread();
    for (int call = 0; call < times && outcome.end == End::kDone; ++call) {
      outcome.end = scheduler_.run(
          [](void* kernel) { (*static_cast<const std::function<void()>*>(kernel))(); },
          const_cast<std::function<void()>*>(&kernel));
    }
    outcome.message = scheduler_.message();
    scheduler_.leave_thread();
    return outcome;
  }

  Scheduler scheduler_;
};

// Links two units by `stream`.
template <typename Stream>
void link(Stream& stream, Unit& writer, Unit& reader) {
  tandem_hls::Channel& channel = stream.tandem_channel();
  channel.unit[tandem_hls::kWriter] = &writer.scheduler();
  channel.unit[tandem_hls::kReader] = &reader.scheduler();
  channel.attention = 1;
}

}  // namespace tandem::hls_runtime_test
