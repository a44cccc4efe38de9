// SPDX-License-Identifier: Apache-2.0
//
// Findings of one kernel run that would fail on hardware: the waits of a deadlock, the depths that
// would have avoided it, and streams that still hold values at the end.
//
// Plain data. Texts are copies, because streams end before the findings are read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::hls_runtime {

// A line of a kernel's source; line 0 if unknown.
struct Place {
  std::string file;
  int line = 0;
};

// A process that waits for data in a stream, or for space.
struct StandingWait {
  std::string unit;
  std::string process;
  std::string stream;
  bool for_data = false;
  uint64_t held = 0;   // values in the stream
  uint64_t depth = 0;  // of the stream; 0: none is stated
  Place place;
};

struct NeededDepth {
  std::string stream;
  Place place;         // where the stream is made
  uint64_t depth = 0;  // a sufficient depth; the smallest one up to 65536 beyond that of the stream
};

struct LeftValues {
  std::string stream;
  Place place;  // where the stream is made
  uint64_t held = 0;
};

struct RunFindings {
  // The waits at the moment when no process could continue: of the deadlock that ended the run, or
  // of a command that was cancelled, or otherwise of the first time that a stream exceeded its
  // depth so that the run could continue.
  std::vector<StandingWait> waits;
  // Streams that exceeded their depths, stated or default, with the depths with which the run
  // passed.
  std::vector<NeededDepth> depths;
  std::vector<LeftValues> left;  // at most 64
};

}  // namespace tandem::hls_runtime
