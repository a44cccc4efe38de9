// SPDX-License-Identifier: Apache-2.0
//
// The traffic that one rank sends in a collective call, by a model of the algorithm.
//
// N are the bytes of the call, n the ranks. Chunks of N differ by at most a byte, so the sums over
// all ranks are exact. Per rank: ring all-reduce 2N(n-1)/n to the next rank; ring all-gather and
// reduce-scatter N(n-1)/n to the next; broadcast N to the next, except to the root; reduce N to the
// next, except from the root; double binary tree N/2 per tree, up and down; NVLS N up to the switch
// and N down; PAT N(n-1)/n in log2(n) steps; direct and all-to-all N/n to each; halving and
// doubling N, N/2, ... to partners, ranks beyond a power of two N to a neighbour and back. Sources:
// ComScribe (arXiv 2110.10401), NCCL's documentation, Thakur, Rabenseifner and Gropp 2005. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/communication/traffic_parties.h"

namespace tandem::trace {

enum class CollectiveAlgorithm { kRing, kTree, kDirect, kNvls, kPat, kHalvingDoubling };

enum class Collective {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kScan
};

struct CollectiveCall {
  Collective collective;
  CollectiveAlgorithm algorithm;
  int ranks = 1;
  int root = 0;
  // The buffer that all ranks reduce, receive or scatter. For gather and scatter: the block of one
  // rank. For all-to-all: the buffer that one rank sends to all, including itself.
  std::uint64_t bytes = 0;
  // [ranks] the blocks of the ranks if they differ (all-gather, reduce-scatter, and the chunks of a
  // ring's all-reduce); otherwise empty.
  std::span<const std::uint64_t> blocks = {};
  std::uint64_t unit_bytes = 1;  // halving and doubling divide a buffer between units
};

struct Flow {
  int source = 0, destination = 0;  // ranks of the call, or kSwitchRank
  std::uint64_t bytes = 0, messages = 0;

  bool operator==(const Flow&) const = default;
};

// Returns the flows that rank `me` causes in `flows`: those that it sends and, from a switch, those
// that it receives. An algorithm without a model for a collective is replaced by ring, or by direct
// if data differ per pair.
void model_flows(const CollectiveCall& call, int me, std::vector<Flow>& flows);

// "ring", "tree", "direct", "nvls", "pat", "halving-doubling", in any case, with NCCL's "_"
// endings. False: unknown.
bool parse_algorithm(std::string_view name, CollectiveAlgorithm& algorithm);

// "AllReduce", "all_reduce" or "allreduce", in any case. False: unknown.
bool parse_collective(std::string_view name, Collective& collective);

// The names above, as parse_algorithm() takes them.
std::vector<std::string> algorithm_names();

const char* name_of(CollectiveAlgorithm algorithm);
const char* name_of(Collective collective);

}  // namespace tandem::trace
