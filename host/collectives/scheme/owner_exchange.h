// SPDX-License-Identifier: Apache-2.0
//
// Push and pull: shared by all schemes in which ranks own parts of the domain.
//
// Owners are ranks 0 .. num_owners - 1 of the communicator, as the partition numbers them. Push:
// every rank sends every owner the entries of its part, numbered within that part (local places).
// The owner reduces them in rank order. Pull: every owner sends its sum to every rank.
// Steps: 1 each, of up to n - 1 messages; a step is skipped by ranks that neither send nor receive.
// Numerics: the owner finishes its sum (received.h) before it sends it, and keeps the finished one.
// Threads: as the communicator. Errors: TransportError.
#pragma once

#include <vector>

#include "collectives/scheme/cost_model.h"
#include "collectives/scheme/scheme.h"
#include "tensor/sparse/partition.h"

namespace tandem::collectives {

// The parts that the caller owns, by rank, in local places; empty if it owns nothing.
std::vector<SparseVector> push_to_owners(Communicator& ranks, const char* phase,
                                         const Partition& partition, const SparseVector& own,
                                         const SchemeSettings& settings);

// parts: by rank, at least one. The caller rounds or finishes the sum. Where the device fails, the
// CPU aggregates.
SparseVector aggregate_parts(std::span<const SparseVector> parts, Reduction reduction,
                             Aggregator& aggregator, Deadline deadline);

// The union of all owners' sums. `sum`: the caller's, in local places; ignored where it owns
// nothing.
SparseVector pull_from_owners(Communicator& ranks, const char* phase, const Partition& partition,
                              SparseVector sum, Domain domain, const SchemeSettings& settings);

// Push of original values, aggregation, and pull of finished sums.
SparseVector reduce_by_owners(Communicator& ranks, const Partition& partition, SparseVector own,
                              const SchemeSettings& settings, Aggregator& aggregator);

// Cost of reduce_by_owners and of its halves. `own_entries`, `union_entries`: of the whole domain.
struct OwnerProblem {
  int num_owners = 1;
  double push_imbalance = 1;
  double pull_imbalance = 1;
  double own_entries = 0;
  double union_entries = 0;
};
PhaseCost push_cost(const Problem& problem, const OwnerProblem& owners);
PhaseCost pull_cost(const Problem& problem, const OwnerProblem& owners);
// The time of the busiest rank: split and encode, decode and merge, encode, decode and join.
double owner_compute_s(const Problem& problem, const OwnerProblem& owners,
                       const ComputeModel& compute);
// The whole cost of reduce_by_owners().
Cost owners_cost(const Problem& problem, const OwnerProblem& owners, const LinkModel& link,
                 const ComputeModel& compute);

}  // namespace tandem::collectives
