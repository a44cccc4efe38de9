// SPDX-License-Identifier: Apache-2.0
//
// One step each way; messages are decoded as they come and kept by rank.
#include "collectives/scheme/owner_exchange.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "collectives/scheme/received.h"

namespace tandem::collectives {
namespace {

Domain local_domain(const Partition& partition, int owner, std::uint32_t width) {
  return {partition.num_local(owner), width};
}

// The ranks below `end` except this rank. The next higher rank comes first, so that the ranks do
// not all start with the same peer.
std::vector<int> peers_below(const Communicator& ranks, int end) {
  std::vector<int> peers;
  for (int distance = 1; distance < ranks.world(); ++distance) {
    const int peer = (ranks.rank() + distance) % ranks.world();
    if (peer < end) peers.push_back(peer);
  }
  return peers;
}

// A hashed owner's last local index may belong to no unit, and decoding knows the local domain
// only.
void reject_place_of_no_unit(const Communicator& ranks, const char* phase, int source,
                             const Partition& partition, int owner, const SparseVector& part) {
  if (part.num_entries() == 0) return;
  const std::uint64_t last = part.index_at(part.num_entries() - 1);
  if (partition.unit(owner, last) >= partition.num_units()) {
    ranks.reject(phase, source, "place " + std::to_string(last) + " stands for no unit");
  }
}

}  // namespace

std::vector<SparseVector> push_to_owners(Communicator& ranks, const char* phase,
                                         const Partition& partition, const SparseVector& own,
                                         const SchemeSettings& settings) {
  const int num_owners = partition.num_owners();
  TANDEM_CHECK_OP(num_owners, <=, ranks.world());
  std::vector<SparseVector> split = partition.split(own);
  std::vector<Outgoing> sends;
  for (const int owner : peers_below(ranks, num_owners)) {
    SparseVector part = std::exchange(split[static_cast<std::size_t>(owner)], {});
    sends.push_back({owner, ranks.seal(phase, encoded_message(part, settings), owner)});
  }
  const bool is_owner = ranks.rank() < num_owners;
  std::vector<SparseVector> parts;
  if (is_owner) {
    parts.resize(static_cast<std::size_t>(ranks.world()));
    const auto rank = static_cast<std::size_t>(ranks.rank());
    parts[rank] = std::move(split[rank]);
  }
  std::vector<int> sources = is_owner ? peers_below(ranks, ranks.world()) : std::vector<int>{};
  if (sends.empty() && sources.empty()) return parts;
  Step step = ranks.start(phase, std::move(sends), std::move(sources));
  while (auto message = step.next()) {
    SparseVector& part = parts[static_cast<std::size_t>(message->source())];
    part = decode_from(ranks, phase, *message,
                       local_domain(partition, ranks.rank(), own.domain().width), own.type(),
                       settings.reduction);
    reject_place_of_no_unit(ranks, phase, message->source(), partition, ranks.rank(), part);
  }
  step.finish();
  return parts;
}

SparseVector aggregate_parts(std::span<const SparseVector> parts, Reduction reduction,
                             Aggregator& aggregator, Deadline deadline) {
  try {
    return aggregator.aggregate(parts, reduction, deadline);
  } catch (const DeviceError&) {
    return merge(parts, reduction);
  }
}

SparseVector pull_from_owners(Communicator& ranks, const char* phase, const Partition& partition,
                              SparseVector sum, Domain domain, const SchemeSettings& settings) {
  const int num_owners = partition.num_owners();
  const DType type = sum.type();
  std::vector<Outgoing> sends;
  std::vector<SparseVector> sums(static_cast<std::size_t>(num_owners));
  if (ranks.rank() < num_owners) {
    if (ranks.world() > 1) {
      const Payload payload = ranks.seal(phase, encoded_message(sum, settings));
      for (const int peer : peers_below(ranks, ranks.world())) sends.push_back({peer, payload});
    }
    sums[static_cast<std::size_t>(ranks.rank())] = std::move(sum);
  }
  std::vector<int> sources = peers_below(ranks, num_owners);
  if (!sends.empty() || !sources.empty()) {
    Step step = ranks.start(phase, std::move(sends), std::move(sources));
    while (auto message = step.next()) {
      const int owner = message->source();
      SparseVector& part = sums[static_cast<std::size_t>(owner)];
      part = decode_from(ranks, phase, *message, local_domain(partition, owner, domain.width), type,
                         settings.reduction);
      reject_place_of_no_unit(ranks, phase, owner, partition, owner, part);
    }
    step.finish();
  }
  return partition.join(std::move(sums), domain);
}

SparseVector reduce_by_owners(Communicator& ranks, const Partition& partition, SparseVector own,
                              const SchemeSettings& settings, Aggregator& aggregator) {
  const Domain domain = own.domain();
  round_as_sent(own, settings);
  const auto parts = push_to_owners(ranks, "push", partition, own, settings);
  SparseVector sum(domain, own.type());
  own = {};
  if (!parts.empty()) {
    sum = aggregate_parts(parts, settings.reduction, aggregator, ranks.deadline());
    finish_sum(sum, settings, ranks.world());
  }
  return pull_from_owners(ranks, "pull", partition, std::move(sum), domain, settings);
}

namespace {

double local_units(const Problem& problem, const OwnerProblem& owners) {
  return std::ceil(static_cast<double>(problem.domain.num_units) / owners.num_owners);
}

OwnerBytes owner_bytes(const Problem& problem, const OwnerProblem& owners, double entries,
                       double imbalance) {
  const double units = local_units(problem, owners);
  return over_owners(entries, owners.num_owners, imbalance, units,
                     [&](double part) { return sparse_message_bytes(problem, units, part); });
}

}  // namespace

PhaseCost push_cost(const Problem& problem, const OwnerProblem& owners) {
  const double peers = problem.world - 1;
  const OwnerBytes bytes = owner_bytes(problem, owners, owners.own_entries, owners.push_imbalance);
  PhaseCost phase;
  if (peers == 0) return phase;
  phase.steps = 1;
  phase.messages = owners.num_owners < problem.world ? owners.num_owners : peers;
  phase.sent = phase.messages * bytes.mean * problem.entry_imbalance;
  phase.received = peers * bytes.busiest;
  phase.total = owners.num_owners * peers * bytes.mean;
  phase.total_messages = owners.num_owners * peers;
  phase.inside = peers_inside(problem);
  return phase;
}

PhaseCost pull_cost(const Problem& problem, const OwnerProblem& owners) {
  const double peers = problem.world - 1;
  const OwnerBytes bytes =
      owner_bytes(problem, owners, owners.union_entries, owners.pull_imbalance);
  PhaseCost phase;
  if (peers == 0) return phase;
  phase.steps = 1;
  phase.messages = peers;
  phase.sent = peers * bytes.busiest;
  phase.received = (owners.num_owners < problem.world ? owners.num_owners : peers) * bytes.mean;
  phase.total = owners.num_owners * peers * bytes.mean;
  phase.total_messages = owners.num_owners * peers;
  phase.inside = peers_inside(problem);
  return phase;
}

double owner_compute_s(const Problem& problem, const OwnerProblem& owners,
                       const ComputeModel& compute) {
  const double at_owner =
      problem.world * owners.own_entries / owners.num_owners * owners.push_imbalance;
  return owners.own_entries * problem.entry_imbalance * compute.codec_s_per_entry +
         at_owner * (compute.codec_s_per_entry + compute.merge_s_per_entry) +
         owners.union_entries * (compute.codec_s_per_entry + compute.merge_s_per_entry);
}

Cost owners_cost(const Problem& problem, const OwnerProblem& owners, const LinkModel& link,
                 const ComputeModel& compute) {
  CostSum sum(problem, link);
  sum.add(push_cost(problem, owners));
  sum.add(pull_cost(problem, owners));
  sum.compute(owner_compute_s(problem, owners, compute));
  return sum.result();
}

}  // namespace tandem::collectives
