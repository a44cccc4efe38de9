// SPDX-License-Identifier: Apache-2.0
//
// The line of a run in TANDEM_CARD_REPORT that waveforms are drawn from: kind "run_waves", severity
// "note".
//
// It holds the unit's registers before and after the run, when processes ran and waited, and when
// values entered and left each stream. Times are cycles from the kernel's start. With `process`,
// `unit` and `begun_ns` it belongs to the "run_time" line of the same run. Members: TIME.md. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bitstreams/compiler/timing/stream_replay.h"

namespace tandem::emulation {

// An argument's register; values are the little-endian bytes of the register map.
struct TimedRegister {
  std::string name;
  uint32_t offset = 0;
  std::vector<unsigned char> before, after;
};

struct RunWaves {
  std::string kernel, unit;
  double cycles = 0;     // of the kernel
  double clock_mhz = 0;  // its clock
  uint64_t begun_ns = 0;
  std::vector<TimedRegister> registers;
  const timing::StreamTimes* streams = nullptr;  // null: the kernel uses none
};

std::string waves_line(const RunWaves& waves);

}  // namespace tandem::emulation
