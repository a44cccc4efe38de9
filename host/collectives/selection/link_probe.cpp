// SPDX-License-Identifier: Apache-2.0
//
// Exchanges of all pairs at once, of a lone pair for comparison, and loops over our own kernels.
#include "collectives/selection/link_probe.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "collectives/codec/codec.h"
#include "collectives/sparse/merge.h"
#include "collectives/workload/synthetic.h"

namespace tandem::collectives {
namespace {

constexpr const char* kPhase = "link probe";
constexpr int kLatencySamples = 8;
constexpr int kBandwidthSamples = 3;
constexpr int kBurst = 16;
constexpr std::size_t kSmallBytes = 64 << 10;
constexpr std::size_t kLargeBytes = 1 << 20;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

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
      ranks.reject(kPhase, from->source(), "not as many measurements as here");
    }
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

struct Partners {
  int between = kNobody;
  int within = kNobody;
  int of_rank_0 = kNobody;  // between nodes where there are several, else within
  bool one_node = false;
};

// The neighbour of `at` when the list is cut into blocks of `block` and neighbouring blocks pair.
int paired(const std::vector<int>& list, std::size_t at, std::size_t block) {
  const std::size_t place = (at / block ^ 1) * block + at % block;
  return place < list.size() ? list[place] : kNobody;
}

std::size_t place_of(const std::vector<int>& list, int rank) {
  return static_cast<std::size_t>(std::find(list.begin(), list.end(), rank) - list.begin());
}

// Ranks in order of their nodes, in blocks of the largest node's size: partners of neighbouring
// blocks are on different nodes.
Partners find_partners(int rank, int world, std::span<const std::uint64_t> nodes) {
  std::map<std::uint64_t, std::vector<int>> members;
  const auto node_of = [&](int other) {
    const auto at = static_cast<std::size_t>(other);
    return nodes.empty() ? at : nodes[at];
  };
  for (int other = 0; other < world; ++other) members[node_of(other)].push_back(other);
  std::vector<int> order;
  std::size_t most = 1;
  for (const auto& [node, of_node] : members) {
    order.insert(order.end(), of_node.begin(), of_node.end());
    most = std::max(most, of_node.size());
  }
  const auto within = [&](int own) {
    const auto& list = members[node_of(own)];
    return paired(list, place_of(list, own), 1);
  };
  const auto between = [&](int own) { return paired(order, place_of(order, own), most); };
  Partners partners;
  partners.one_node = members.size() == 1;
  partners.within = within(rank);
  if (!partners.one_node) partners.between = between(rank);
  partners.of_rank_0 = partners.one_node ? within(0) : between(0);
  return partners;
}

// Latency and seconds per byte; zeros where this rank has no partner.
std::vector<double> measure(Communicator& ranks, int partner, const SecondsClock& now) {
  const double empty = exchange(ranks, partner, 0, kLatencySamples, now);
  const double small = exchange(ranks, partner, kSmallBytes, kBandwidthSamples, now);
  const double large = exchange(ranks, partner, kLargeBytes, kBandwidthSamples, now);
  const double per_byte = std::max((large - small) / (kLargeBytes - kSmallBytes), 1e-13);
  return {empty, partner == kNobody ? 0 : per_byte};
}

// Seconds of a large message between rank 0 and its partner while the others are silent.
double measure_lone_pair(Communicator& ranks, const Partners& partners, const SecondsClock& now) {
  int partner = kNobody;
  if (ranks.rank() == 0) partner = partners.of_rank_0;
  if (ranks.rank() == partners.of_rank_0) partner = 0;
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

ComputeModel time_kernels() {
  SyntheticOptions options;
  options.domain = {1 << 20, 1};
  options.density = 1.0 / 32;
  std::vector<SparseVector> parts;
  for (int rank = 0; rank < 4; ++rank) parts.push_back(synthetic_gradient(options, rank, 4, 1));
  const auto entries = static_cast<double>(parts[0].num_entries());
  ComputeModel model;
  model.merge_s_per_entry = seconds_per_item(4 * entries, [&] { merge(parts, Reduction::kSum); });
  model.codec_s_per_entry = seconds_per_item(2 * entries, [&] {
    ByteBuffer message;
    encode(parts[0], Codec::kCoo32, DType::kF32, Reduction::kSum, message);
    auto body = std::span<const std::byte>(message);
    decode(body, options.domain, DType::kF32, Reduction::kSum);
  });
  RawVector<float> sum(1 << 20, 0.0f), other(1 << 20, 1.0f);
  model.dense_s_per_value = seconds_per_item(1 << 20, [&] {
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
  const Partners partners = find_partners(ranks.rank(), ranks.world(), nodes);
  const auto between = measure(ranks, partners.between, now);
  const auto within = measure(ranks, partners.within, now);
  const double message =
      measure_message(ranks, partners.one_node ? partners.within : partners.between, now);
  gather(ranks, {});  // the others have ended before the pair begins
  const double lone = measure_lone_pair(ranks, partners, now);
  const auto all = gather(ranks, {between[0], between[1], within[0], within[1], lone, message});
  link.latency_s = agree(all, 0, agree(all, 2, link.latency_s));
  const double per_byte = agree(all, 1, agree(all, 3, 1 / link.bandwidth_bytes_per_s));
  link.bandwidth_bytes_per_s = 1 / per_byte;
  link.node_latency_s = agree(all, 2, link.latency_s);
  const double node_per_byte = agree(all, 3, per_byte);
  link.node_bandwidth_bytes_per_s = 1 / node_per_byte;
  link.message_s = agree(all, 5, 0);
  // A pair alone against all at once, on one machine: shared where the time grows with the ranks.
  const double alone = agree(all, 4, 0);
  const double together = link.latency_s + kLargeBytes * per_byte;
  const double growth = alone > 0 ? together / alone : 1;
  link.bandwidth_is_shared =
      partners.one_node && ranks.world() >= 4 && growth > ranks.world() / 4.0;
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
