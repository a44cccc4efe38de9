// SPDX-License-Identifier: Apache-2.0
//
// The common part of the schemes' cost functions: sizes of expected messages, and the sum over
// phases.
//
// A phase is a number of steps that follow each other; inside a step, messages travel at the same
// time and share the rank's link. Time of a phase: steps x (latency + the rank's time per message)
// + bytes of the busiest rank, the larger of both directions, over the bandwidth. Bytes inside a
// node and between nodes travel at the same time. Where ranks share a core or a link, bytes and
// messages of all ranks add up. No cost decreases when a count grows. Threads: plain values.
#pragma once

#include <functional>

#include "collectives/scheme/problem.h"

namespace tandem::collectives {

struct PhaseCost {
  double steps = 0;           // latencies in sequence
  double messages = 0;        // sent by the busiest rank
  double sent = 0;            // bytes, by the busiest rank
  double received = 0;        // bytes, by the busiest rank
  double total = 0;           // bytes, sent by all ranks
  double total_messages = 0;  // sent by all ranks
  double inside = 0;          // share of the bytes that stays in a node
};

class CostSum {
 public:
  CostSum(const Problem& problem, const LinkModel& link) : world_(problem.world), link_(link) {}

  void add(const PhaseCost& phase);
  void add(const Cost& other,
           double share);  // adds a cost that occurs in the share `share` of the calls
  // Adds the time of the busiest rank.
  void compute(double seconds) { cost_.compute_s += seconds; }
  Cost result() const;

 private:
  int world_;
  LinkModel link_;
  Cost cost_;
};

// Share of a rank's peers that are on its node, and whether all are.
double peers_inside(const Problem& problem);
bool one_node(const Problem& problem);

// Bytes, frame included, of a message with `entries` entries of a (local) domain of `units` units.
// blocks: the number of blocks of 256 values that have an entry; 0: entries are spread evenly.
double sparse_message_bytes(const Problem& problem, double units, double entries,
                            double blocks = 0);
double dense_message_bytes(const Problem& problem, double units);

// Bytes of messages to or from `num_owners` of which one holds `imbalance` times the mean.
struct OwnerBytes {
  double busiest = 0;
  double mean = 0;
};
OwnerBytes over_owners(double amount, int num_owners, double imbalance, double limit,
                       const std::function<double(double)>& message_bytes);

// Expected imbalance if `entries` entries are divided at random among n owners:
// 1 + sqrt(2 n ln(n) / entries), at most n.
double hash_imbalance(double entries, int num_owners);

// Expected entries in the union of `ranks` ranks (interpolated between whole numbers).
double union_of(const std::vector<double>& unions, double ranks);

}  // namespace tandem::collectives
