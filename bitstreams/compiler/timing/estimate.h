// SPDX-License-Identifier: Apache-2.0
//
// estimate(): computes the modelled time of a run from the kernel's description, the counts of the
// run, and the card.
//
// A pipelined loop takes depth + II * (trips - 1) - 1 cycles per entry, or the time of its ports if
// that is longer. II is the largest value that the pragma, dependences, local memories or ports
// require. Perfect nests count as one loop. A port takes one cycle per beat, or more if too few
// bursts are outstanding for the round trip. An access outside a burst is a burst of one beat. A
// bank limits all its ports together. Processes of a region overlap: the slowest counts, plus the
// time until the others' first value, or as the replay of their streams says. Not modelled: page
// misses of bursts, bank conflicts. Source: Vitis HLS user guide (UG1399); public measurements.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/run_counts.h"
#include "bitstreams/compiler/timing/stream_replay.h"

namespace tandem::timing {

struct LoopTime {
  std::string file;
  int line = 0;
  double entries = 0;
  double trips = 0;  // over all entries
  double ii = 0;     // 0: not pipelined
  double depth = 0;
  double cycles = 0;
  std::string why;  // the reason for the II, or for the time
};

struct PortTime {
  std::string argument;
  std::string bundle;
  std::string bank;
  bool writes = false;
  double bytes = 0;
  double bursts = 0;
  double cycles = 0;              // busy cycles of the port
  double bandwidth_gb_per_s = 0;  // over the kernel's time
  double peak_gb_per_s = 0;       // peak of the bank
};

struct ChannelTime {
  std::string bank;
  double bytes = 0;
  double busy_us = 0;             // that the bank needs for them alone
  double bandwidth_gb_per_s = 0;  // over the kernel's time
  double peak_gb_per_s = 0;
};

// What a loop adds to a process's time, or a function beside its loops (loop -1).
struct WorkCost {
  int function = 0;
  int loop = -1;
  int outer = -1;        // the loop whose entries count: of a perfect nest the outermost
  double per_trip = 0;   // cycles, beyond the first trip of an entry
  double per_entry = 0;  // cycles of an entry with one trip
  double prologue = 0;   // of them, those before the first iteration
};

// What a change of the kernel would save.
struct Advice {
  std::string text;
  double saves_us = 0;
};

struct RunTime {
  double kernel_us = 0;
  double launch_us = 0;
  double modelled_us = 0;  // kernel_us + launch_us
  double modelled_us_low = 0, modelled_us_high = 0;
  double cycles = 0;
  std::string limit;  // "loop vadd.cpp:12", "port in", "channel DDR[0]", "launch", "kernel"
  std::string why;
  std::vector<std::string> unknown;  // why low and high differ, and what is not modelled
  std::vector<LoopTime> loops;
  std::vector<PortTime> ports;
  std::vector<ChannelTime> channels;
  double operations = 0;  // arithmetic on values, without indices
  double compute_us = 0;  // if no memory and no dependence held a loop up
  std::vector<ReplayedStream> streams;
  std::vector<ReplayedProcess> processes;
  std::vector<Advice> advice;
};

// `replayed`: what StreamEvents made of the run; null: regions overlap as if streams never filled.
RunTime estimate(const KernelModel& model, const RunCounts& counts,
                 const std::vector<TimedArgument>& arguments, const TimedCard& card,
                 const ReplayedRun* replayed = nullptr);

std::vector<WorkCost> work_costs(const KernelModel& model, const RunCounts& counts,
                                 const std::vector<TimedArgument>& arguments,
                                 const TimedCard& card);

}  // namespace tandem::timing
