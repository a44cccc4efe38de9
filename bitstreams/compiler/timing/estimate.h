// SPDX-License-Identifier: Apache-2.0
//
// The modelled time of a run: a pure function of the kernel's description, what the run counted,
// and the card.
//
// A pipelined loop takes depth + II * (trips - 1) - 1 cycles per entry, or as long as its ports
// take. II is the largest of what pragma, dependences, local memories and ports ask for. Nested
// perfect loops are one loop. A port takes a cycle per beat of a burst, more where too few bursts
// are outstanding for the round trip; an access outside of a burst is a burst of one beat. Channels
// bound the bytes of all their ports. Processes of a region overlap: the slowest counts, and what
// the others need until their first value. Not modelled: stalls of bounded streams, page misses,
// conflicts of local memory banks. Source: Vitis HLS user guide (UG1399); public measurements.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/run_counts.h"

namespace tandem::timing {

struct LoopTime {
  std::string file;
  int line = 0;
  double entries = 0;
  double trips = 0;  // of all entries
  double ii = 0;     // 0: not pipelined
  double depth = 0;
  double cycles = 0;
  std::string why;  // what the II, or the time, comes from
};

struct PortTime {
  std::string argument;
  std::string bundle;
  std::string bank;
  bool writes = false;
  double bytes = 0;
  double bursts = 0;
  double cycles = 0;              // that the port is busy
  double bandwidth_gb_per_s = 0;  // over the kernel's time
  double peak_gb_per_s = 0;       // of the bank
};

struct RunTime {
  double kernel_us = 0;
  double launch_us = 0;
  double modelled_us = 0;  // both
  double modelled_us_low = 0, modelled_us_high = 0;
  double cycles = 0;
  std::string limit;  // "loop vadd.cpp:12", "port in", "channel DDR[0]", "launch", "kernel"
  std::string why;
  std::vector<std::string> unknown;  // why low and high differ, and what is left out
  std::vector<LoopTime> loops;
  std::vector<PortTime> ports;
};

RunTime estimate(const KernelModel& model, const RunCounts& counts,
                 const std::vector<TimedArgument>& arguments, const TimedCard& card);

}  // namespace tandem::timing
