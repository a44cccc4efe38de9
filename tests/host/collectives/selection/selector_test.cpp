// SPDX-License-Identifier: Apache-2.0
//
// The selector's decisions on schemes whose costs the test sets, and its probe on simulated links.
#include "collectives/selection/selector.h"

#include <gtest/gtest.h>

#include "collectives/transport/simulated/simulated.h"
#include "collectives/workload/synthetic.h"

namespace tandem::collectives {
namespace {

// Costs what it is told; never run.
class FixedCost final : public Scheme {
 public:
  FixedCost(std::string name, double seconds) : name_(std::move(name)), seconds_(seconds) {}
  std::string_view name() const override { return name_; }
  std::string_view description() const override { return name_; }
  std::string refusal(const Problem&) const override { return refusal_; }
  Cost cost(const Problem& problem, const LinkModel&, const ComputeModel&) const override {
    Cost cost;
    cost.seconds = seconds_ + per_entry_ * problem.union_entries[1];
    return cost;
  }
  Reduced allreduce(Communicator&, SparseVector own, const SchemeSettings&, SchemeMemory&,
                    Aggregator&) const override {
    return own;
  }
  void refuse() { refusal_ = "told so"; }
  void set_per_entry(double seconds) { per_entry_ = seconds; }

 private:
  std::string name_, refusal_;
  double seconds_;
  double per_entry_ = 0;
};

// All ranks' selectors, fed with each other's headers.
class Selectors {
 public:
  Selectors(int world, std::vector<const Scheme*> candidates) : candidates_(std::move(candidates)) {
    SelectorOptions options;
    options.candidates = candidates_;
    for (int rank = 0; rank < world; ++rank) selectors_.emplace_back(options);
    workload_.domain = {100'000, 1};
  }

  SyntheticOptions& workload() { return workload_; }
  Selector& of(int rank) { return selectors_[static_cast<std::size_t>(rank)]; }
  std::size_t header_bytes() const { return header_bytes_; }

  // One call: what was chosen, alike on every rank.
  std::string call() {
    const int world = static_cast<int>(selectors_.size());
    std::vector<ByteBuffer> headers;
    for (int rank = 0; rank < world; ++rank) {
      headers.push_back(of(rank).header(synthetic_gradient(workload_, rank, world, 3), world));
    }
    header_bytes_ = headers.front().size();
    std::string name;
    for (Selector& selector : selectors_) {
      Problem problem;
      problem.world = world;
      problem.domain = workload_.domain;
      const std::string own(selector.choose(headers, problem, {}).name());
      EXPECT_TRUE(name.empty() || own == name);
      name = own;
    }
    return name;
  }
  // The slowest rank took `seconds`.
  void took(double seconds) {
    for (Selector& selector : selectors_) selector.record(seconds / 2, 10, 10);
    selectors_.back().record(seconds, 10, 10);
  }

 private:
  std::vector<const Scheme*> candidates_;
  std::vector<Selector> selectors_;
  SyntheticOptions workload_;
  std::size_t header_bytes_ = 0;
};

TEST(Selector, ChoosesTheLeastPredictedThatCanRun) {
  FixedCost fast("fast", 1), middle("middle", 2), slow("slow", 3);
  Selectors all(4, {&slow, &middle, &fast});
  EXPECT_EQ(all.call(), "fast");
  fast.refuse();
  EXPECT_EQ(all.call(), "middle");
  middle.refuse();
  slow.refuse();
  EXPECT_THROW(all.call(), Error);
}

TEST(Selector, TriesTheNextBestWhenTheBestDisappointsAndStaysWithTheFaster) {
  FixedCost promising("promising", 1.0), honest("honest", 1.4), slow("slow", 9);
  Selectors all(3, {&promising, &honest, &slow});
  std::vector<std::string> chosen;
  for (int call = 0; call < 12; ++call) {
    chosen.push_back(all.call());
    all.took(chosen.back() == "promising" ? 4.0 : 1.5);
  }
  EXPECT_EQ(chosen[0], "promising");
  EXPECT_EQ(chosen[3], "honest");
  EXPECT_EQ(chosen.back(), "honest");
  EXPECT_EQ(std::count(chosen.begin(), chosen.end(), "slow"), 0);
}

TEST(Selector, ReturnsWhenTheNextBestIsWorse) {
  FixedCost best("best", 1.0), other("other", 1.1);
  Selectors all(2, {&best, &other});
  std::vector<std::string> chosen;
  for (int call = 0; call < 12; ++call) {
    chosen.push_back(all.call());
    all.took(chosen.back() == "best" ? 2.0 : 5.0);
  }
  EXPECT_EQ(std::count(chosen.begin(), chosen.end(), "other"), 1);
  EXPECT_EQ(chosen.back(), "best");
}

TEST(Selector, DoesNotExploreWhenThePredictionHolds) {
  FixedCost best("best", 1.0), other("other", 1.05);
  Selectors all(2, {&best, &other});
  for (int call = 0; call < 10; ++call) {
    EXPECT_EQ(all.call(), "best");
    all.took(1.3);
  }
}

TEST(Selector, SketchesTravelAtFirstOnDriftAndEverySixtyFourthCall) {
  FixedCost only("only", 1);
  Selectors all(2, {&only});
  std::vector<int> with_sketch;
  for (int call = 0; call < 100; ++call) {
    if (call == 20) all.workload().density = 0.012;  // 20 % more: no drift
    if (call == 40) all.workload().density = 0.02;
    all.call();
    if (all.header_bytes() > 100) with_sketch.push_back(call);
  }
  EXPECT_EQ(with_sketch, (std::vector<int>{0, 1, 41}));
  for (int call = 100; call < 106; ++call) {
    all.call();
    if (all.header_bytes() > 100) with_sketch.push_back(call);
  }
  EXPECT_EQ(with_sketch.back(), 105);
}

TEST(Selector, ScalesTheProfileWithTheEntriesInBetween) {
  FixedCost flat("flat", 1), growing("growing", 0);
  growing.set_per_entry(0.9 / 1000);
  Selectors all(2, {&flat, &growing});
  all.workload().density = 0.01;  // 1,000 entries
  for (int call = 0; call < 3; ++call) EXPECT_EQ(all.call(), "growing");
  all.workload().density = 0.0124;
  EXPECT_EQ(all.call(), "flat");
  EXPECT_NEAR(all.of(0).problem().union_entries[1], 1240, 1e-6);
}

TEST(Selector, NamesTheRankWhoseHeaderIsGarbage) {
  FixedCost only("only", 1);
  SelectorOptions options;
  const Scheme* candidates[] = {&only};
  options.candidates = candidates;
  Selector selector(options);
  SyntheticOptions workload;
  workload.domain = {1000, 1};
  std::vector<ByteBuffer> headers;
  for (int rank = 0; rank < 3; ++rank) {
    headers.push_back(selector.header(synthetic_gradient(workload, rank, 3, 1), 3));
  }
  headers[1].resize(headers[1].size() - 1);
  try {
    selector.choose(headers, {}, {});
    FAIL() << "accepted";
  } catch (const TransportError& error) {
    EXPECT_EQ(error.kind(), TransportError::Kind::kGarbage);
    EXPECT_EQ(error.peer(), 1);
  }
}

TEST(Selector, ExplainsTheChoice) {
  FixedCost fast("fast_scheme", 1e-3), odd("odd_scheme", 1);
  odd.refuse();
  Selectors all(2, {&odd, &fast});
  all.call();
  all.took(2e-3);
  const std::string text = all.of(1).explanation();
  EXPECT_NE(text.find("fast_scheme"), std::string::npos);
  EXPECT_NE(text.find("<- chosen: the least predicted time"), std::string::npos);
  EXPECT_NE(text.find("cannot run: told so"), std::string::npos);
  EXPECT_NE(text.find("this call took 2.000 ms here"), std::string::npos);
}

TEST(LinkProbe, FindsTheSimulatedLinksOnEveryRankAlike) {
  for (const int per_node : {1, 4}) {
    simulated::NetworkOptions network;
    network.world = 8;
    network.latency_s = 50e-6;
    network.bandwidth_bytes_per_s = 1.25e8;
    network.message_gap_s = 3e-6;
    network.ranks_per_node = per_node;
    network.node_latency_s = 4e-6;
    network.node_bandwidth_bytes_per_s = 2e9;
    std::vector<LinkModel> found(8);
    simulated::run_ranks(network, [&](Transport& transport) {
      Communicator ranks(transport, 1, Deadline::after(std::chrono::seconds(60)));
      std::vector<std::uint64_t> nodes;
      for (int rank = 0; rank < 8; ++rank)
        nodes.push_back(static_cast<std::uint64_t>(rank / per_node));
      found[static_cast<std::size_t>(transport.rank())] =
          probe_links(ranks, nodes, [&] { return simulated::now(transport); });
    });
    for (const LinkModel& link : found) {
      EXPECT_EQ(link.latency_s, found[0].latency_s);
      EXPECT_EQ(link.bandwidth_bytes_per_s, found[0].bandwidth_bytes_per_s);
    }
    EXPECT_NEAR(found[0].latency_s, 50e-6, 5e-6);
    EXPECT_NEAR(found[0].bandwidth_bytes_per_s * per_node / 1.25e8, 1, 0.02);
    EXPECT_NEAR(found[0].message_s, 3e-6, 1e-6);
    EXPECT_FALSE(found[0].bandwidth_is_shared);
    if (per_node == 1) continue;
    EXPECT_NEAR(found[0].node_latency_s, 4e-6, 1e-6);
    EXPECT_NEAR(found[0].node_bandwidth_bytes_per_s / 2e9, 1, 0.02);
  }
}

TEST(LinkProbe, GivesUsableNumbersOnThreads) {
  std::vector<MachineModel> found(4);
  simulated::NetworkOptions network;
  network.world = 4;
  simulated::run_ranks(network, [&](Transport& transport) {
    Communicator ranks(transport, 1, Deadline::after(std::chrono::seconds(60)));
    found[static_cast<std::size_t>(transport.rank())] = probe_machine(ranks);
  });
  for (const MachineModel& machine : found) {
    EXPECT_GT(machine.link.latency_s, 0);
    EXPECT_GT(machine.link.bandwidth_bytes_per_s, 0);
    EXPECT_GT(machine.compute.merge_s_per_entry, 0);
    EXPECT_EQ(machine.compute.merge_s_per_entry, found[0].compute.merge_s_per_entry);
    EXPECT_EQ(machine.link.latency_s, found[0].link.latency_s);
  }
}

}  // namespace
}  // namespace tandem::collectives
