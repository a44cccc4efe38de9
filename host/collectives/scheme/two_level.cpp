// SPDX-License-Identifier: Apache-2.0
//
// Two levels: reduce inside each node, balanced parallelism between nodes, distribute inside.
//
// The s-th rank of every node owns shard s of its node's sum and exchanges it between the nodes.
// Shards, and owners between nodes, are hashed. Nodes may differ in size and interleave; with every
// rank its own node this is balanced parallelism. Steps: node push 1, push and pull between the G
// nodes 2, node pull 1; those without peers 0. Numerics: rank order inside a node, then the order
// of the owners' ranks. A node's sum goes between the nodes unrounded (partial_type); the final sum
// is rounded to the wire type. Source: the usual hierarchical all-reduce (Jia et al., Highly
// scalable deep learning training system, 2018) with ZEN's scheme between the nodes.
#include <algorithm>
#include <map>
#include <string>

#include "collectives/scheme/owner_exchange.h"
#include "collectives/scheme/received.h"
#include "collectives/scheme/schemes.h"

namespace tandem::collectives {
namespace {

constexpr const char* kNodePushPhase = "node push";
constexpr const char* kPushPhase = "push";
constexpr const char* kPullPhase = "pull";
constexpr const char* kNodePullPhase = "node pull";

// There are m shards, where m is the size of the smallest node.
struct Nodes {
  std::vector<int> mine;     // the caller's node, ascending
  std::vector<int> between;  // owners of the caller's shard, ascending; empty: it owns none
  int num_shards = 1;
};

Nodes nodes_of(const SchemeSettings& settings, int rank, int world) {
  if (!settings.node_of_rank.empty() &&
      settings.node_of_rank.size() != static_cast<std::size_t>(world)) {
    throw Error("collectives", "node_of_rank names the nodes of " +
                                   std::to_string(settings.node_of_rank.size()) + " of " +
                                   std::to_string(world) + " ranks");
  }
  std::map<int, std::vector<int>> members;
  for (int other = 0; other < world; ++other) {
    const auto at = static_cast<std::size_t>(other);
    members[settings.node_of_rank.empty() ? other : settings.node_of_rank[at]].push_back(other);
  }
  Nodes nodes;
  std::size_t shards = static_cast<std::size_t>(world);
  for (const auto& [node, ranks] : members) {
    shards = std::min(shards, ranks.size());
    if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) nodes.mine = ranks;
  }
  const auto place = static_cast<std::size_t>(
      std::find(nodes.mine.begin(), nodes.mine.end(), rank) - nodes.mine.begin());
  nodes.num_shards = static_cast<int>(shards);
  if (place < shards) {
    for (const auto& [node, ranks] : members) nodes.between.push_back(ranks[place]);
    std::sort(nodes.between.begin(), nodes.between.end());
  }
  return nodes;
}

// Nodes as the cost model sees them: consecutive ranks, the last node takes the rest.
struct NodeCounts {
  double num_nodes = 1;
  double largest = 1;
  double last = 1;

  explicit NodeCounts(const Problem& problem) {
    const int of_node = std::clamp(problem.ranks_per_node, 1, problem.world);
    const int count = (problem.world + of_node - 1) / of_node;
    num_nodes = count;
    largest = of_node;
    last = problem.world - (count - 1) * of_node;
  }
  double shards() const { return std::min(largest, last); }
};

void add_inside(Problem problem, const NodeCounts& nodes, double entries, CostSum& sum) {
  if (nodes.largest < 2) return;
  problem.codec = Codec::kAuto;
  const double shards = nodes.shards();
  const auto units = static_cast<double>(problem.domain.num_units);
  const double message = sparse_message_bytes(problem, units / shards, entries / shards);
  const double members = problem.world - nodes.num_nodes;  // sum of (size - 1) over nodes
  PhaseCost phase;
  phase.steps = 1;
  phase.messages = nodes.largest - 1;
  phase.sent = phase.received = (nodes.largest - 1) * message;
  phase.total = shards * members * message;
  phase.total_messages = shards * members;
  phase.inside = 1;
  sum.add(phase);
}

void add_between(const Problem& problem, const NodeCounts& nodes, CostSum& sum) {
  if (nodes.num_nodes < 2) return;
  const double parts = nodes.shards() * nodes.num_nodes;
  const double units = static_cast<double>(problem.domain.num_units) / parts;
  const auto message = [&](const Problem& of_message, double ranks) {
    return sparse_message_bytes(of_message, units, union_of(problem.union_entries, ranks) / parts);
  };
  const Problem partials = of_partials(problem);
  const auto pushed = [&](double ranks) { return message(ranks > 1 ? partials : problem, ranks); };
  const double peers = nodes.num_nodes - 1;
  const double shards = nodes.shards();
  PhaseCost push;
  push.steps = 1;
  push.messages = peers;
  push.sent = push.received = peers * pushed(nodes.largest);
  push.total = shards * peers * (peers * pushed(nodes.largest) + pushed(nodes.last));
  push.total_messages = shards * nodes.num_nodes * peers;
  sum.add(push);
  PhaseCost pull = push;
  pull.sent = pull.received = peers * message(problem, problem.world);
  pull.total = parts * peers * message(problem, problem.world);
  sum.add(pull);
}

// The caller's shard.
struct Shard {
  const Partition& shards;
  int number = 0;
  bool holds_partial_sums = false;  // sums of several ranks of a node
  int world = 1;                    // number of ranks in its sum

  // The last local index of a hashed shard may belong to no unit; between the nodes it is one of
  // many.
  void reject_place_of_no_unit(const Communicator& between, const char* phase, int source,
                               std::uint64_t place) const {
    if (shards.unit(number, place) >= shards.num_units()) {
      between.reject(phase, source, "place " + std::to_string(place) + " stands for no unit");
    }
  }
};

// The shard's sum over all nodes. `sum`: the caller's node's.
SparseVector reduce_between(Communicator& between, const Shard& shard, SparseVector sum,
                            const SchemeSettings& settings, Aggregator& aggregator) {
  const Domain domain = sum.domain();
  // A different seed, because the first seed has hashed the shard's units already.
  const Partition owners = Partition::hashed(domain.num_units, between.world(), settings.seed + 1);
  const SchemeSettings pushed = shard.holds_partial_sums ? of_partials(settings) : settings;
  round_as_sent(sum, pushed);
  const auto parts = push_to_owners(between, kPushPhase, owners, sum, pushed);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const std::size_t count = parts[rank].num_entries();
    if (count == 0) continue;
    const std::uint64_t place = owners.unit(between.rank(), parts[rank].index_at(count - 1));
    shard.reject_place_of_no_unit(between, kPushPhase, static_cast<int>(rank), place);
  }
  sum = aggregate_parts(parts, settings.reduction, aggregator, between.deadline());
  finish_sum(sum, settings, shard.world);
  sum = pull_from_owners(between, kPullPhase, owners, std::move(sum), domain, settings);
  if (sum.num_entries() > 0) {
    const std::uint64_t place = sum.index_at(sum.num_entries() - 1);
    shard.reject_place_of_no_unit(between, kPullPhase, owners.owner(place), place);
  }
  return sum;
}

// Inside a node the codec is always auto: a message is dense from the density on at which dense is
// smallest (97 % of its shard), sparse below. `codec` is for messages between nodes. Bytes, with
// U(k) the encoded union of k ranks and L ranks in a node, and frames and headers:
//   inside, per owner:   (L - 1) U(1) / m received, (L - 1) U(n) / m sent
//   between, per owner:  (G - 1) / G (U(L) + U(n)) / m each way
// U(L) of L > 1 has values of the accumulation type. Balance: hashed at both levels. Ranks after
// the m-th of a node take no part between nodes, so uneven nodes leave links idle.
class TwoLevel final : public Scheme {
 public:
  std::string_view name() const override { return "two_level"; }
  bool uses_aggregator() const override { return true; }
  std::string_view description() const override {
    return "reduce inside nodes, balanced parallelism between them";
  }
  std::string refusal(const Problem&) const override { return {}; }

  Cost cost(const Problem& problem, const LinkModel& link,
            const ComputeModel& compute) const override {
    const NodeCounts nodes(problem);
    const auto entries = [&](double ranks) { return union_of(problem.union_entries, ranks); };
    CostSum sum(problem, link);
    add_inside(problem, nodes, entries(1), sum);
    add_between(problem, nodes, sum);
    add_inside(problem, nodes, entries(problem.world), sum);
    const double per_entry = compute.codec_s_per_entry + compute.merge_s_per_entry;
    const double shards = nodes.shards();
    sum.compute(per_entry *
                (entries(1) * (1 + nodes.largest / shards) + entries(nodes.largest) * 2 / shards +
                 entries(problem.world) * (1 + 1 / shards)));
    return sum.result();
  }

  Reduced allreduce(Communicator& ranks, SparseVector own, const SchemeSettings& settings,
                    SchemeMemory&, Aggregator& aggregator) const override {
    const Domain domain = own.domain();
    const Nodes nodes = nodes_of(settings, ranks.rank(), ranks.world());
    const Partition shards = Partition::hashed(domain.num_units, nodes.num_shards, settings.seed);
    Communicator node = ranks.subgroup(nodes.mine);
    SchemeSettings inside = settings;
    inside.codec = Codec::kAuto;
    round_as_sent(own, inside);
    const auto parts = push_to_owners(node, kNodePushPhase, shards, own, inside);
    SparseVector sum(domain, own.type());
    own = {};
    if (!parts.empty()) {
      Communicator between = ranks.subgroup(nodes.between);
      sum = aggregate_parts(parts, settings.reduction, aggregator, ranks.deadline());
      const Shard shard{shards, node.rank(), nodes.mine.size() > 1, ranks.world()};
      sum = reduce_between(between, shard, std::move(sum), settings, aggregator);
    }
    return pull_from_owners(node, kNodePullPhase, shards, std::move(sum), domain, inside);
  }
};

}  // namespace

const Scheme& two_level() {
  static const TwoLevel scheme;
  return scheme;
}

}  // namespace tandem::collectives
