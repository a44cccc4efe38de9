// SPDX-License-Identifier: Apache-2.0
//
// RunTimer: computes the modelled time of a unit's runs from the counters of the kernel's counting
// copy, after each call.
//
// TANDEM_TIME: `model`, or empty. Each unit has its own library and so its own counters. Threads:
// the unit's. Errors: Error("time", ...) if the kernel's description is damaged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/estimate.h"
#include "emulation/card/program/kernel_library.h"
#include "emulation/card/timing/run_waves.h"
#include "emulation/card/timing/stream_recorder.h"

namespace tandem::emulation {

// Whether TANDEM_TIME asks for the model. Throws std::runtime_error for an unknown value.
bool parse_time(const std::string& text);
// Whether TANDEM_WAVES is `on`; it needs modelled times. Throws as above.
bool parse_waves(const std::string& text, bool timed);

// Sets where device memory is mapped, for all kernels of the card.
void set_timed_memory(const void* memory, uint64_t size_bytes, const timing::TimedCard* card);

class RunTimer {
 public:
  RunTimer(const KernelLibrary::CountingCopy& copy, timing::TimedCard card);
  // Null if the copy does not count. `card`: null for a card of which nothing is known.
  static std::unique_ptr<RunTimer> make(const KernelLibrary::CountingCopy& copy,
                                        const timing::TimedCard* card);

  // `arguments`: the pointers of this call. `waves`: keeps what waves() tells.
  void begin(std::vector<timing::TimedArgument> arguments, bool waves = false);
  StreamRecorder& recorder() { return recorder_; }
  timing::RunTime end();
  // For the report: kind "run_time", severity "note".
  std::string line(const timing::RunTime& time, const std::string& kernel,
                   const std::string& unit) const;
  // Of the call that ended last, without names and registers; valid until the next one begins.
  RunWaves waves(const timing::RunTime& time) const;
  // For a call that did not end by itself.
  void drop();

 private:
  const KernelLibrary::CountingCopy copy_;
  const timing::KernelModel model_;
  timing::RunCounts counts() const;

  timing::TimedCard card_;
  std::vector<timing::TimedArgument> arguments_;
  uint64_t begun_ns_ = 0, ended_ns_ = 0;  // of the host's monotonic clock, which applications share
  StreamRecorder recorder_;
  std::optional<timing::StreamEvents> events_;
  std::optional<timing::ReplayedRun> replayed_;  // of the last call, if it used streams
};

}  // namespace tandem::emulation
