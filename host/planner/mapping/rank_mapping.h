// SPDX-License-Identifier: Apache-2.0
//
// Ranks onto the places of a topology, by the bytes that they exchange.
//
// The problem has a task per place; tasks behind the ranks have no flow. Its cost is the sum over
// pairs of ranks of bytes times the cost of the way. If that passes the range of the search, its
// flows are bytes divided by the least power of two that suffices. Threads: pure. Errors:
// Error("traffic", ...) with the field, and for sums above 2^62; Error("topology", ...) for more
// ranks than places and for a place that mpirun cannot address.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "planner/mapping/quadratic_assignment.h"
#include "planner/mapping/topology.h"

namespace tandem::planner {

struct RankTraffic {
  int num_ranks = 0;
  std::vector<std::int64_t> bytes;  // [num_ranks, num_ranks] from, to; 0 on the diagonal
};

// The JSON that `tandem trace-comm` writes: `ranks`, and `bytes` as [dst][src].
RankTraffic read_rank_traffic(std::istream& in);

QuadraticAssignment rank_problem(const RankTraffic& traffic, const Topology& topology,
                                 const TopologyDistances& distances);

// The sum over pairs of ranks of bytes times `matrix` between their places, exactly. With
// TopologyDistances::slow: the bytes on slow links; a byte counts once for each on its way.
std::int64_t bytes_times(const RankTraffic& traffic, const std::vector<std::int64_t>& matrix,
                         const Permutation& places);

// Lines "rank 0=host slot=0", for `mpirun --rankfile`.
std::string rank_file_text(const Topology& topology, const Permutation& places, int num_ranks);

// The ranks in the order of their places: the first takes number 0 in a communicator of NCCL, whose
// rings and trees join neighbours in number.
std::vector<int> nccl_order(const Permutation& places, int num_ranks);

}  // namespace tandem::planner
