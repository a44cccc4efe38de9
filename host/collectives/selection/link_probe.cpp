// SPDX-License-Identifier: Apache-2.0
//
// Exchanges of all pairs at once, of a lone pair for comparison, and loops over our own kernels.
#include "collectives/selection/link_probe.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "collectives/codec/codec.h"
#include "common/median.h"
#include "tensor/sparse/merge.h"

namespace tandem::collectives {
namespace {

constexpr const char* kPhase = "link probe";
constexpr int kLatencySamples = 8;
constexpr int kBandwidthSamples = 3;
constexpr int kBurst = 16;
constexpr std::size_t kMaxPairings = 3;
constexpr std::size_t kSmallBytes = 64 << 10;
constexpr std::size_t kLargeBytes = 1 << 20;
constexpr std::uint32_t kTimedUnits = 1 << 20;
constexpr std::uint32_t kMeanGap = 32;  // units per entry of a timed part

// A rank exchanges with one partner at a time. Whichever of the two is ahead waits longer in one
// round and less in the next, so two rounds take exactly twice what the links take.
// kNobody: it takes no part.
constexpr int kNobody = -1;

double exchange(Communicator& ranks, int partner, std::size_t bytes, int num_samples,
                const SecondsClock& now) {
  if (partner == kNobody) return 0;
  const auto round = [&] {
    ByteBuffer message = new_message(bytes);
    message.resize(message.size() + bytes);
    std::memset(message.data(), 1, message.size());
    ranks.send_receive(kPhase, partner, std::move(message), partner);
  };
  round();  // connections, first touch of memory
  std::vector<double> seconds;
  for (int sample = 0; sample < num_samples; ++sample) {
    const double start = now();
    round();
    round();
    seconds.push_back((now() - start) / 2);
  }
  return median(std::move(seconds));
}

// Seconds that one more message costs the rank that sends it.
double measure_message(Communicator& ranks, int partner, const SecondsClock& now) {
  if (partner == kNobody) return 0;
  const double single = exchange(ranks, partner, 0, kLatencySamples, now);
  std::vector<double> seconds;
  for (int round = 0; round < kLatencySamples; ++round) {
    std::vector<Outgoing> sends;
    for (int message = 0; message < kBurst; ++message) {
      sends.push_back({partner, ranks.seal(kPhase, new_message(), partner)});
    }
    const double start = now();
    Step step = ranks.start(kPhase, std::move(sends), std::vector<int>(kBurst, partner));
    while (step.next()) {
    }
    step.finish();
    seconds.push_back(now() - start);
  }
  return std::max(0.0, median(std::move(seconds)) - single) / (kBurst - 1);
}

// The values of all ranks, in rank order; `own` has the same size everywhere.
std::vector<std::vector<double>> gather(Communicator& ranks, const std::vector<double>& own) {
  ByteBuffer message = new_message(own.size() * sizeof(double));
  for (double value : own) append_value(message, value);
  auto received = ranks.all_gather(kPhase, std::move(message));
  std::vector<std::vector<double>> all(received.size(), own);
  for (const auto& from : received) {
    if (!from) continue;
    const auto body = from->body();
    if (body.size() != own.size() * sizeof(double)) {
      ranks.reject(kPhase, from->source(), "another number of measurements than this rank");
    }
    if (body.empty()) continue;  // memcpy takes no null pointer
    std::memcpy(all[static_cast<std::size_t>(from->source())].data(), body.data(), body.size());
  }
  return all;
}

// Median over the ranks whose value is positive; `otherwise` where none is.
double agree(const std::vector<std::vector<double>>& all, std::size_t which, double otherwise) {
  std::vector<double> values;
  for (const auto& of_rank : all) {
    if (std::isfinite(of_rank[which]) && of_rank[which] > 0) values.push_back(of_rank[which]);
  }
  return values.empty() ? otherwise : median(std::move(values));
}

// Which ranks exchange with each other at the same time: [world] partners, or kNobody.
using Pairing = std::vector<int>;

struct Pairings {
  std::vector<Pairing> between;  // ranks of different nodes
  std::vector<Pairing> within;   // ranks of one node
  bool one_node = false;

  const std::vector<Pairing>& widest() const { return one_node ? within : between; }
};

// As many pairs as a walk through `order` finds; ranks without a partner so far choose first, and
// each prefers the rank `stride` places further.
template <typename MayPair>
Pairing next_pairing(const std::vector<int>& order, std::size_t stride,
                     const std::vector<char>& had_partner, const MayPair& may_pair) {
  Pairing pairing(order.size(), kNobody);
  const auto find_partner = [&](std::size_t at) {
    const int rank = order[at];
    if (pairing[static_cast<std::size_t>(rank)] != kNobody) return;
    for (std::size_t further = 0; further < order.size(); ++further) {
      const int other = order[(at + stride + further) % order.size()];
      if (pairing[static_cast<std::size_t>(other)] != kNobody || !may_pair(rank, other)) continue;
      pairing[static_cast<std::size_t>(rank)] = other;
      pairing[static_cast<std::size_t>(other)] = rank;
      return;
    }
  };
  for (const bool later : {false, true}) {
    for (std::size_t at = 0; at < order.size(); ++at) {
      if ((had_partner[static_cast<std::size_t>(order[at])] != 0) == later) find_partner(at);
    }
  }
  return pairing;
}

// Pairings until every rank that can have a partner has had one: one pairing for even counts, else
// two. Where most ranks are on one node, kMaxPairings ends the search first; those ranks are
// measured by the pairs within the node.
template <typename MayPair>
std::vector<Pairing> find_pairings(const std::vector<int>& order, std::size_t stride,
                                   const MayPair& may_pair) {
  std::vector<Pairing> pairings;
  std::vector<char> had_partner(order.size(), 0);
  while (pairings.size() < kMaxPairings) {
    Pairing pairing = next_pairing(order, stride, had_partner, may_pair);
    bool is_new = false;
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      if (pairing[rank] == kNobody || had_partner[rank] != 0) continue;
      had_partner[rank] = 1;
      is_new = true;
    }
    if (!is_new) break;
    pairings.push_back(std::move(pairing));
  }
  return pairings;
}

// Ranks in order of their nodes; those between nodes look for partners one node's size further.
Pairings find_all_pairings(int world, std::span<const std::uint64_t> nodes) {
  std::map<std::uint64_t, std::vector<int>> members;
  const auto node_of = [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    return nodes.empty() ? at : nodes[at];
  };
  for (int rank = 0; rank < world; ++rank) members[node_of(rank)].push_back(rank);
  std::vector<int> order;
  std::size_t most = 1;
  for (const auto& [node, of_node] : members) {
    order.insert(order.end(), of_node.begin(), of_node.end());
    most = std::max(most, of_node.size());
  }
  const auto are_near = [&](int one, int other) {
    return one != other && node_of(one) == node_of(other);
  };
  const auto are_far = [&](int one, int other) { return node_of(one) != node_of(other); };
  return {find_pairings(order, most, are_far), find_pairings(order, 1, are_near),
          members.size() == 1};
}

// Latency and seconds per byte; zeros where this rank has no partner.
std::vector<double> measure(Communicator& ranks, int partner, const SecondsClock& now) {
  const double empty = exchange(ranks, partner, 0, kLatencySamples, now);
  const double small = exchange(ranks, partner, kSmallBytes, kBandwidthSamples, now);
  const double large = exchange(ranks, partner, kLargeBytes, kBandwidthSamples, now);
  const double per_byte = std::max((large - small) / (kLargeBytes - kSmallBytes), 1e-13);
  return {empty, partner == kNobody ? 0 : per_byte};
}

// Means over the pairings in which this rank has a partner; zeros where it never has one.
std::vector<double> measure_all(Communicator& ranks, const std::vector<Pairing>& pairings,
                                const SecondsClock& now) {
  std::vector<double> sum = {0, 0};
  int num_pairings = 0;
  for (const Pairing& pairing : pairings) {
    if (&pairing != &pairings.front()) gather(ranks, {});  // no partner is still busy
    const int partner = pairing[static_cast<std::size_t>(ranks.rank())];
    const auto measured = measure(ranks, partner, now);
    for (std::size_t at = 0; at < sum.size(); ++at) sum[at] += measured[at];
    num_pairings += partner != kNobody ? 1 : 0;
  }
  for (double& value : sum) value /= std::max(1, num_pairings);
  return sum;
}

// Seconds of a large message between two ranks of one machine while the others are silent.
double measure_lone_pair(Communicator& ranks, const Pairing& pairing, const SecondsClock& now) {
  gather(ranks, {});  // the others have ended before the pair begins
  const int of_rank_0 = pairing[0];
  int partner = kNobody;
  if (ranks.rank() == 0) partner = of_rank_0;
  if (ranks.rank() == of_rank_0) partner = 0;
  return exchange(ranks, partner, kLargeBytes, kBandwidthSamples, now);
}

template <typename Body>
double seconds_per_item(double items, Body&& body) {
  std::vector<double> seconds;
  for (int round = 0; round < 5; ++round) {
    const double start = steady_seconds();
    body();
    seconds.push_back(steady_seconds() - start);
  }
  return median(std::move(seconds)) / items;
}

// Ones at some of kTimedUnits units. The gaps are random: a merge cannot predict which part comes
// next, as with gradients.
SparseVector scattered_part(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> units;
  for (std::uint32_t unit = 0; unit < kTimedUnits; unit += 1 + random() % (2 * kMeanGap - 1)) {
    units.push_back(unit);
  }
  SparseVector part({kTimedUnits, 1}, DType::kF32);
  part.resize(units.size());
  std::copy(units.begin(), units.end(), part.indices<std::uint32_t>().begin());
  std::ranges::fill(part.values<float>(), 1.0f);
  return part;
}

ComputeModel time_kernels() {
  std::vector<SparseVector> parts;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) parts.push_back(scattered_part(seed));
  const auto entries = static_cast<double>(parts[0].num_entries());
  ComputeModel model;
  model.merge_s_per_entry = seconds_per_item(4 * entries, [&] { merge(parts, Reduction::kSum); });
  model.codec_s_per_entry = seconds_per_item(2 * entries, [&] {
    ByteBuffer message;
    encode(parts[0], Codec::kCoo32, DType::kF32, Reduction::kSum, message);
    auto body = std::span<const std::byte>(message);
    decode(body, parts[0].domain(), DType::kF32, Reduction::kSum);
  });
  RawVector<float> sum(kTimedUnits, 0.0f), other(kTimedUnits, 1.0f);
  model.dense_s_per_value = seconds_per_item(kTimedUnits, [&] {
    for (std::size_t at = 0; at < sum.size(); ++at) sum[at] += other[at];
  });
  // Observed, so that the additions are not optimised away.
  if (sum.back() < 0) throw Error("selection", "adding positive numbers gave a negative one");
  return model;
}

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

LinkModel probe_links(Communicator& ranks, std::span<const std::uint64_t> nodes,
                      const SecondsClock& now) {
  LinkModel link;
  if (ranks.world() < 2) return link;
  const Pairings pairings = find_all_pairings(ranks.world(), nodes);
  const auto between = measure_all(ranks, pairings.between, now);
  const auto within = measure_all(ranks, pairings.within, now);
  const Pairing& first = pairings.widest().front();
  const double message = measure_message(ranks, first[static_cast<std::size_t>(ranks.rank())], now);
  const bool may_share = pairings.one_node && ranks.world() >= 4;
  const double lone = may_share ? measure_lone_pair(ranks, first, now) : 0;
  const auto all = gather(ranks, {between[0], between[1], within[0], within[1], lone, message});
  link.latency_s = agree(all, 0, agree(all, 2, link.latency_s));
  const double per_byte = agree(all, 1, agree(all, 3, 1 / link.bandwidth_bytes_per_s));
  link.bandwidth_bytes_per_s = 1 / per_byte;
  link.node_latency_s = agree(all, 2, link.latency_s);
  const double node_per_byte = agree(all, 3, per_byte);
  link.node_bandwidth_bytes_per_s = 1 / node_per_byte;
  link.message_s = agree(all, 5, 0);
  // Compares one pair alone with all pairs at once on one machine. If the time grows with the
  // ranks, the bandwidth is shared.
  const double alone = agree(all, 4, 0);
  const double together = link.latency_s + kLargeBytes * per_byte;
  const double growth = alone > 0 ? together / alone : 1;
  link.bandwidth_is_shared = may_share && growth > ranks.world() / 4.0;
  if (link.bandwidth_is_shared) {
    link.bandwidth_bytes_per_s *= ranks.world();
    link.node_bandwidth_bytes_per_s *= ranks.world();
  }
  return link;
}

ComputeModel measure_compute() {
  static const ComputeModel model = time_kernels();
  return model;
}

MachineModel probe_machine(Communicator& ranks, std::span<const std::uint64_t> nodes) {
  MachineModel machine{probe_links(ranks, nodes), measure_compute()};
  if (ranks.world() < 2) return machine;
  const auto all =
      gather(ranks, {machine.compute.merge_s_per_entry, machine.compute.codec_s_per_entry,
                     machine.compute.dense_s_per_value});
  machine.compute.merge_s_per_entry = agree(all, 0, machine.compute.merge_s_per_entry);
  machine.compute.codec_s_per_entry = agree(all, 1, machine.compute.codec_s_per_entry);
  machine.compute.dense_s_per_value = agree(all, 2, machine.compute.dense_s_per_value);
  return machine;
}

}  // namespace tandem::collectives
