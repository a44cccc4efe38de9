// SPDX-License-Identifier: Apache-2.0
//
// The time of runs of RTL kernels: their simulated clock cycles, told by the kernel itself.
//
// Cycles are counted per thread, so each unit has its own. The size of device memory is the card's,
// for ports that address it. Threads: any.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::emulation {

void set_rtl_memory(uint64_t size_bytes);
uint64_t rtl_memory_bytes();
// TANDEM_RTL_STALLS: the seed of what ports do; 0: they never stall. Throws if `text` is no number.
void set_rtl_stalls(const std::string& text);
uint64_t rtl_stalls();

void add_rtl_cycles(uint64_t cycles);
// The cycles that were added on this thread since the last call.
uint64_t take_rtl_cycles();

struct RtlRun {
  std::string kernel;
  std::string unit;
  uint64_t cycles = 0;
  double clock_mhz = 0;
  double launch_us = 0;
  uint64_t begun_ns = 0, ended_ns = 0;  // of the monotonic clock

  double modelled_us() const { return static_cast<double>(cycles) / clock_mhz + launch_us; }
};

// A line of the report, as RunTimer::line() writes it for C++ kernels: kind "run_time".
std::string rtl_time_line(const RtlRun& run);

}  // namespace tandem::emulation
