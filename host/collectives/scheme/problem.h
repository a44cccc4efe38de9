// SPDX-License-Identifier: Apache-2.0
//
// Problem: the facts on which the cost of a collective call depends, and the cost model's units.
//
// A Problem describes one sparse all-reduce as the ranks agree on it; LinkModel and ComputeModel
// describe the machines. A Cost is what a scheme predicts from them. All counts are means over
// ranks unless said otherwise. Statistics come from the profile (selection/profile.h) or, in tests,
// from the data itself. Threads: plain values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/codec/codec.h"
#include "collectives/frames/vocabulary.h"

namespace tandem::collectives {

struct Problem {
  int world = 1;
  int ranks_per_node = 1;  // 1: every rank on its own node, or unknown
  int server_count = 0;    // SchemeSettings::server_count
  Domain domain;
  DType wire = DType::kF32;
  Reduction reduction = Reduction::kSum;
  Codec codec = Codec::kAuto;

  // [world + 1]; [k]: units in the union of k ranks' supports, mean over choices of the k; [0] = 0,
  // [1] = the mean number of entries of a rank. The spec's gamma^k is [k] / [1].
  std::vector<double> union_entries;
  // [world + 1]; the same for blocks of 256 values.
  std::vector<double> union_blocks;

  // The load of the busiest owner divided by the mean load, for even ranges; at least 1, which is
  // balance. First for the entries that a rank pushes (the worst rank), then for the union.
  double even_push_imbalance = 1;
  double even_pull_imbalance = 1;
  // The same for blocks of 256 values (OmniReduce).
  double even_block_push_imbalance = 1;
  double even_block_pull_imbalance = 1;
  double entry_imbalance = 1;  // most entries of a rank, divided by the mean over ranks
  double delta_ratio = 1;      // measured_delta_ratio(), mean over ranks; 1: a uniform support

  double value_bytes() const;  // of one unit on the wire
  double dense_bytes() const;  // of the whole tensor on the wire
};

// One rank's network and memory: full duplex, one message of b bytes takes latency + b / bandwidth.
struct LinkModel {
  double latency_s = 20e-6;
  double bandwidth_bytes_per_s = 1e9;       // between nodes, each direction, per rank
  double node_latency_s = 5e-6;             // between ranks of one node
  double node_bandwidth_bytes_per_s = 5e9;  // between ranks of one node
  double message_s = 0;  // time that a rank itself needs per message that it sends
  // ranks of one process or core: bytes, messages and computation of all add up
  bool bandwidth_is_shared = false;
};

// The type in which partial results are sent. Sums use the accumulation type, because roundings on
// the way would add up. Maxima use the wire type, which holds them exactly.
DType partial_type(DType wire, Reduction reduction);

// Returns `problem` changed to messages with partial results.
Problem of_partials(Problem problem);

// The speed of one rank that computes alone.
struct ComputeModel {
  double merge_s_per_entry = 4e-9;
  double codec_s_per_entry = 3e-9;
  double dense_s_per_value = 0.5e-9;
};

// Phases follow each other. Each phase counts the messages and bytes of its busiest rank, which may
// differ between phases. The cost is therefore an upper bound for every rank.
struct Cost {
  double steps = 0;           // network latencies in sequence
  double messages = 0;        // sent by the busiest ranks
  double bytes_sent = 0;      // sent by the busiest ranks, frames included
  double bytes_received = 0;  // received by the busiest ranks
  double total_bytes = 0;     // sent by all ranks
  double compute_s = 0;
  double seconds = 0;
};

// Independent uniform supports: union_entries[k] = N (1 - (1 - d)^k), the same for blocks; no skew.
void fill_independent(Problem& problem, double density);

// Fills union_entries, union_blocks and the imbalances exactly, for world = by_rank.size(). For
// tests and simulations, where one process has the vectors of all ranks.
void fill_measured(Problem& problem, std::span<const SparseVector> by_rank);

// The size of `own` in codec delta divided by the size that encoded_bytes() expects for a uniform
// support: below 1 if entries cluster. 1 without entries. Cost: an encoding.
double measured_delta_ratio(const SparseVector& own);

}  // namespace tandem::collectives
