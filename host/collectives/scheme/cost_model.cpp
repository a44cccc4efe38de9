// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of the cost model; no state.
#include "collectives/scheme/cost_model.h"

#include <algorithm>
#include <cmath>

#include "collectives/frames/communicator.h"
#include "collectives/scheme/received.h"

namespace tandem::collectives {

void CostSum::add(const PhaseCost& phase) {
  const bool inside_only = phase.inside >= 1;
  const double latency = inside_only ? link_.node_latency_s : link_.latency_s;
  double transfer_s = 0;
  double messages = phase.messages;
  if (link_.bandwidth_is_shared) {
    transfer_s = phase.total /
                 (inside_only ? link_.node_bandwidth_bytes_per_s : link_.bandwidth_bytes_per_s);
    messages = phase.total_messages;
  } else {
    const double bytes = std::max(phase.sent, phase.received);
    transfer_s = std::max(bytes * (1 - phase.inside) / link_.bandwidth_bytes_per_s,
                          bytes * phase.inside / link_.node_bandwidth_bytes_per_s);
  }
  cost_.steps += phase.steps;
  cost_.messages += phase.messages;
  cost_.bytes_sent += phase.sent;
  cost_.bytes_received += phase.received;
  cost_.total_bytes += phase.total;
  cost_.seconds += phase.steps * latency + messages * link_.message_s + transfer_s;
}

void CostSum::add(const Cost& other, double share) {
  cost_.steps += other.steps * share;
  cost_.messages += other.messages * share;
  cost_.bytes_sent += other.bytes_sent * share;
  cost_.bytes_received += other.bytes_received * share;
  cost_.total_bytes += other.total_bytes * share;
  cost_.seconds += other.seconds * share;
}

Cost CostSum::result() const {
  Cost cost = cost_;
  cost.seconds += cost.compute_s * (link_.bandwidth_is_shared ? world_ : 1);
  return cost;
}

double peers_inside(const Problem& problem) {
  if (problem.world < 2) return 1;
  const int of_node = std::clamp(problem.ranks_per_node, 1, problem.world);
  return static_cast<double>(of_node - 1) / (problem.world - 1);
}

bool one_node(const Problem& problem) { return problem.ranks_per_node >= problem.world; }

double sparse_message_bytes(const Problem& problem, double units, double entries, double blocks) {
  const Domain domain{static_cast<std::uint64_t>(std::ceil(units)), problem.domain.width};
  const EncodingStatistics statistics{domain, std::min(entries, units), blocks};
  const auto bytes = [&](Codec codec) {
    return encoded_bytes(codec, statistics, problem.wire) *
           (codec == Codec::kDelta ? problem.delta_ratio : 1);
  };
  const Codec wanted = usable_codec(problem.codec, domain, problem.reduction);
  if (wanted != Codec::kAuto) return kFrameBytes + bytes(wanted);
  double least = bytes(Codec::kCoo32);
  for (const Codec codec : all_codecs()) {
    if (keeps_presence(codec, domain, problem.reduction)) least = std::min(least, bytes(codec));
  }
  return kFrameBytes + least;
}

double dense_message_bytes(const Problem& problem, double units) {
  return kFrameBytes + units * problem.value_bytes();
}

OwnerBytes over_owners(double amount, int num_owners, double imbalance, double limit,
                       const std::function<double(double)>& message_bytes) {
  const double mean = amount / num_owners;
  if (num_owners == 1) return {message_bytes(mean), message_bytes(mean)};
  const double most =
      std::max(mean, std::min({mean * std::clamp(imbalance, 1.0, static_cast<double>(num_owners)),
                               amount, limit}));
  const double busiest = message_bytes(most);
  const double others = message_bytes(std::max(0.0, amount - most) / (num_owners - 1));
  return {busiest, (busiest + (num_owners - 1) * others) / num_owners};
}

double hash_imbalance(double entries, int num_owners) {
  if (entries <= 0 || num_owners < 2) return 1;
  return std::min<double>(num_owners,
                          1 + std::sqrt(2 * num_owners * std::log(num_owners) / entries));
}

double union_of(const std::vector<double>& unions, double ranks) {
  if (unions.empty()) return 0;
  const double last = static_cast<double>(unions.size() - 1);
  const double at = std::clamp(ranks, 0.0, last);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, unions.size() - 1);
  const double fraction = at - static_cast<double>(below);
  return unions[below] * (1 - fraction) + unions[above] * fraction;
}

}  // namespace tandem::collectives
