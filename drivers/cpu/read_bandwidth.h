// SPDX-License-Identifier: Apache-2.0
//
// Measures how fast the cores read memory: the roofline of decode.
//
// A pass reads every byte once, first from the memory of the reader's NUMA node; the best of
// several patterns counts. read_bandwidth() measures once per process and thread plan (number of
// threads and their processors; about 50 ms on 128 MiB) and keeps the result. If little memory is
// left, it reads less; that part may then be in caches. ReadProbe is for benchmarks, which repeat
// it on more memory. Threads: read_bandwidth() from any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/host_memory.h"
#include "cpu/team.h"

namespace tandem::device::cpu {

class ReadProbe {
 public:
  ReadProbe(Team& team, std::size_t size_bytes);

  // Bytes per second of one pass, with the fastest pattern.
  double measure();

 private:
  Team& team_;
  Mapping memory_;
  tiling::Regions<1> parts_;  // the memory in parts of 1 MiB
};

// The memory that a probe uses if `left_bytes` are left: at most a quarter of them, because Linux
// kills a process that exceeds the limit of its control group. Whole MiB, at least one.
std::size_t probe_bytes(std::size_t wanted_bytes, std::uint64_t left_bytes);

// The bandwidth in bytes per second of a team of threads with this plan.
double read_bandwidth(const ThreadPlan& plan);

}  // namespace tandem::device::cpu
