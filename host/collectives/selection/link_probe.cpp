// SPDX-License-Identifier: Apache-2.0
//
// Ring shifts among all ranks at once, a lone pair for comparison, and loops over our own kernels.
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
constexpr int kLatencyRounds = 8;
constexpr int kBandwidthRounds = 3;
constexpr int kBurst = 16;
constexpr std::size_t kSmallBytes = 64 << 10;
constexpr std::size_t kLargeBytes = 1 << 20;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Whom a rank sends to and receives from; -1: it takes no part.
struct Neighbours {
  int to = -1;
  int from = -1;
};

double shift(Communicator& ranks, Neighbours peers, std::size_t bytes, int rounds,
             const SecondsClock& now) {
  if (peers.to < 0) return 0;
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) {
    ByteBuffer message = new_message(bytes);
    message.resize(message.size() + bytes);
    std::memset(message.data(), round, message.size());
    const double start = now();
    ranks.send_receive(kPhase, peers.to, std::move(message), peers.from);
    seconds.push_back(now() - start);
  }
  return median(std::move(seconds));
}

// Seconds that one more message costs the rank that sends it.
double measure_message(Communicator& ranks, Neighbours peers, const SecondsClock& now) {
  if (peers.to < 0) return 0;
  std::vector<double> seconds;
  for (int round = 0; round < kLatencyRounds; ++round) {
    std::vector<Outgoing> sends;
    for (int message = 0; message < kBurst; ++message) {
      sends.push_back({peers.to, ranks.seal(kPhase, new_message(), peers.to)});
    }
    const double start = now();
    Step step = ranks.start(kPhase, std::move(sends), std::vector<int>(kBurst, peers.from));
    while (step.next()) {
    }
    step.finish();
    seconds.push_back(now() - start);
  }
  const double single = shift(ranks, peers, 0, kLatencyRounds, now);
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

struct Rings {
  Neighbours between, within;
};

// Ranks in order of their nodes; shifting by the largest node's size leaves every node.
Rings make_rings(int rank, int world, std::span<const std::uint64_t> nodes) {
  std::map<std::uint64_t, std::vector<int>> members;
  for (int other = 0; other < world; ++other) {
    const auto at = static_cast<std::size_t>(other);
    members[nodes.empty() ? at : nodes[at]].push_back(other);
  }
  std::vector<int> order;
  std::size_t most = 1;
  for (const auto& [node, of_node] : members) {
    order.insert(order.end(), of_node.begin(), of_node.end());
    most = std::max(most, of_node.size());
  }
  const auto neighbours = [rank](const std::vector<int>& ring, std::size_t distance) {
    const auto at =
        static_cast<std::size_t>(std::find(ring.begin(), ring.end(), rank) - ring.begin());
    return Neighbours{ring[(at + distance) % ring.size()],
                      ring[(at + ring.size() - distance) % ring.size()]};
  };
  Rings rings;
  if (members.size() > 1) rings.between = neighbours(order, most);
  const auto& own = members[nodes.empty() ? static_cast<std::size_t>(rank)
                                          : nodes[static_cast<std::size_t>(rank)]];
  if (own.size() > 1) rings.within = neighbours(own, 1);
  return rings;
}

// Latency and seconds per byte of a ring; zeros where this rank is in none.
std::vector<double> measure(Communicator& ranks, Neighbours peers, const SecondsClock& now) {
  shift(ranks, peers, kSmallBytes, 1, now);  // connections, first touch of memory
  const double empty = shift(ranks, peers, 0, kLatencyRounds, now);
  const double small = shift(ranks, peers, kSmallBytes, kBandwidthRounds, now);
  const double large = shift(ranks, peers, kLargeBytes, kBandwidthRounds, now);
  const double per_byte = std::max((large - small) / (kLargeBytes - kSmallBytes), 0.0);
  return {empty, peers.to < 0 ? 0 : std::max(per_byte, 1e-13)};
}

// Seconds of a large message between ranks 0 and 1 while the others are silent.
double measure_lone_pair(Communicator& ranks, const SecondsClock& now) {
  Neighbours pair;
  if (ranks.rank() < 2) pair = {1 - ranks.rank(), 1 - ranks.rank()};
  return shift(ranks, pair, kLargeBytes, kBandwidthRounds, now);
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
  const Rings rings = make_rings(ranks.rank(), ranks.world(), nodes);
  const auto between = measure(ranks, rings.between, now);
  const auto within = measure(ranks, rings.within, now);
  const double lone = measure_lone_pair(ranks, now);
  const Neighbours any = rings.between.to < 0 ? rings.within : rings.between;
  const double message = measure_message(ranks, any, now);
  const auto all = gather(ranks, {between[0], between[1], within[0], within[1], lone, message});
  link.latency_s = agree(all, 0, agree(all, 2, link.latency_s));
  const double per_byte = agree(all, 1, agree(all, 3, 1 / link.bandwidth_bytes_per_s));
  link.bandwidth_bytes_per_s = 1 / per_byte;
  link.node_latency_s = agree(all, 2, link.latency_s);
  const double node_per_byte = agree(all, 3, per_byte);
  link.node_bandwidth_bytes_per_s = 1 / node_per_byte;
  link.message_s = agree(all, 5, 0);
  // Two ranks in a pair against all of them: shared where the time grows with the ranks.
  const double alone = agree(all, 4, 0);
  const double together = link.latency_s + kLargeBytes * per_byte;
  const double growth = alone > 0 ? together / alone : 1;
  link.bandwidth_is_shared = ranks.world() >= 4 && growth > ranks.world() / 4.0;
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
