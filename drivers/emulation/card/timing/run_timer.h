// SPDX-License-Identifier: Apache-2.0
//
// RunTimer: computes the modelled time of a unit's runs from the counters of the kernel's counting
// copy, after each call.
//
// TANDEM_TIME: `model`, or empty. Each unit has its own library and so its own counters. Threads:
// the unit's. Errors: Error("time", ...) if the kernel's description is damaged.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/timing/estimate.h"
#include "emulation/card/program/kernel_library.h"

namespace tandem::emulation {

// Whether TANDEM_TIME asks for the model. Throws std::runtime_error for an unknown value.
bool parse_time(const std::string& text);

// Sets where device memory is mapped, for all kernels of the card.
void set_timed_memory(const void* memory, uint64_t size_bytes);

class RunTimer {
 public:
  RunTimer(const KernelLibrary::CountingCopy& copy, timing::TimedCard card);

  void begin();
  const timing::TimedCard& card() const { return card_; }
  // `arguments`: the pointers of this call.
  timing::RunTime end(const std::vector<timing::TimedArgument>& arguments) const;

 private:
  const KernelLibrary::CountingCopy copy_;
  const timing::KernelModel model_;
  timing::TimedCard card_;
};

// The line of TANDEM_CARD_REPORT: kind "run_time", severity "note".
std::string json_line(const timing::RunTime& time, const timing::TimedCard& card,
                      const std::string& kernel, const std::string& unit);

}  // namespace tandem::emulation
