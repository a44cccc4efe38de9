// SPDX-License-Identifier: Apache-2.0
//
// The modelled time of a unit's runs: reads what the kernel's counting copy holds, after each call.
//
// TANDEM_TIME: `model`, or empty. The counters are the library's own, so each unit counts for
// itself. Threads: the unit's. Errors: Error("time", ...) where the kernel's description is
// damaged.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/timing/estimate.h"
#include "emulation/card/program/kernel_library.h"

namespace tandem::emulation {

// Whether TANDEM_TIME asks for the model. Throws std::runtime_error for an unknown value.
bool parse_time(const std::string& text);

// Where device memory is mapped, for all kernels of the card.
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
