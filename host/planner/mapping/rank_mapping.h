// SPDX-License-Identifier: Apache-2.0
//
// Maps ranks onto the places of a topology by the bytes that they exchange.
//
// The problem has one task per place; tasks without a rank have no flow. Its cost is the sum over
// pairs of ranks of bytes times the cost of the path between their places. If this sum exceeds the
// range of the search, the bytes are divided by the smallest sufficient power of two. Threads:
// pure. Errors: Error("traffic", ...) with the field, and for sums above 2^62; Error("topology",
// ...) for more ranks than places and for a place that mpirun cannot address.
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

// Returns the exact sum over pairs of ranks of bytes times the entry of `matrix` for their places.
// With TopologyDistances::slow it is the bytes on slow links; a byte counts once per slow link on
// its path.
std::int64_t bytes_times(const RankTraffic& traffic, const std::vector<std::int64_t>& matrix,
                         const Permutation& places);

// Lines "rank 0=host slot=0", for `mpirun --rankfile`.
std::string rank_file_text(const Topology& topology, const Permutation& places, int num_ranks);

// The ranks in the order of their places: the first takes number 0 in a communicator of NCCL, whose
// rings and trees join neighbours in number.
std::vector<int> nccl_order(const Permutation& places, int num_ranks);

}  // namespace tandem::planner
