// SPDX-License-Identifier: Apache-2.0
//
// How fast the cores read memory: the roofline of decode.
//
// A pass reads every byte once, in the best of several patterns, from the memory of the reader's
// NUMA node first. read_bandwidth() measures once per process and plan of threads (how many, and
// where they are bound; about 50 ms on 128 MiB) and remembers; ReadProbe is for benchmarks that
// repeat it on more memory. Threads: any for read_bandwidth().
#pragma once

#include <cstddef>

#include "cpu/host_memory.h"
#include "cpu/team.h"

namespace tandem::device::cpu {

class ReadProbe {
 public:
  ReadProbe(Team& team, std::size_t size_bytes);

  // Bytes per second of one pass, by the best of the ways to read that are tried.
  double measure();

 private:
  Team& team_;
  Mapping memory_;
  tiling::Regions<1> parts_;  // of 1 MiB
};

// Of a team with this plan.
double read_bandwidth(const ThreadPlan& plan);

}  // namespace tandem::device::cpu
