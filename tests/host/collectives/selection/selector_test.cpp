// SPDX-License-Identifier: Apache-2.0
//
// The selector's decisions on schemes whose costs the test sets, and its probe on simulated links.
#include "collectives/selection/selector.h"

#include <gtest/gtest.h>

#include <map>

#include "tensor/sparse/generate/synthetic.h"
#include "transport/simulated/simulated.h"

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
    ++num_costs_;
    Cost cost;
    cost.seconds = seconds_ + per_entry_ * problem.union_entries[1];
    return cost;
  }
  Reduced allreduce(Communicator&, SparseVector own, const SchemeSettings&, SchemeMemory&,
                    Aggregator&) const override {
    return own;
  }
  bool uses_aggregator() const override { return uses_aggregator_; }
  void refuse() { refusal_ = "told so"; }
  void use_aggregator() { uses_aggregator_ = true; }
  int num_costs() const { return num_costs_; }
  void set_per_entry(double seconds) { per_entry_ = seconds; }

 private:
  std::string name_, refusal_;
  double seconds_;
  double per_entry_ = 0;
  bool uses_aggregator_ = false;
  mutable int num_costs_ = 0;
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

  sparse::SyntheticOptions& workload() { return workload_; }
  Selector& of(int rank) { return selectors_[static_cast<std::size_t>(rank)]; }
  std::size_t header_bytes() const { return header_bytes_; }

  // One call: what was chosen, alike on every rank.
  std::string call() {
    const int world = static_cast<int>(selectors_.size());
    std::vector<ByteBuffer> headers;
    for (int rank = 0; rank < world; ++rank) {
      headers.push_back(
          of(rank).header(sparse::synthetic_gradient(workload_, rank, world, 3), world));
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
  sparse::SyntheticOptions workload_;
  std::size_t header_bytes_ = 0;
};

TEST(Selector, ChoosesTheLeastPredictedThatCanRun) {
  FixedCost fast("fast", 1), middle("middle", 2), slow("slow", 3);
  const std::vector<const Scheme*> candidates = {&slow, &middle, &fast};
  EXPECT_EQ(Selectors(4, candidates).call(), "fast");
  fast.refuse();
  EXPECT_EQ(Selectors(4, candidates).call(), "middle");
  middle.refuse();
  slow.refuse();
  EXPECT_THROW(Selectors(4, candidates).call(), Error);
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
  EXPECT_EQ(std::count(chosen.begin(), chosen.end(), "other"), 2);  // one may be noise
  EXPECT_EQ(chosen.back(), "best");
}

// A slow device says nothing about schemes that do not use it.
TEST(Selector, LeavesASlowAggregatorForWhatDoesNotUseIt) {
  FixedCost owners("owners", 1.0), servers("servers", 1.1), nodes("nodes", 1.2);
  FixedCost gather("gather", 1.6), ring("ring", 4.0);
  for (FixedCost* scheme : {&owners, &servers, &nodes}) scheme->use_aggregator();
  Selectors all(3, {&owners, &servers, &nodes, &gather, &ring});
  std::map<std::string, int> calls;
  std::string last;
  for (int call = 0; call < 30; ++call) {
    last = all.call();
    ++calls[last];
    const bool is_quick = last == "gather" || last == "ring";
    all.took(is_quick ? (last == "gather" ? 1.8 : 4.1) : 12.0);
    if (call == 6) {
      for (const Candidate& candidate : all.of(0).ranking()) {
        if (candidate.scheme != &ring) continue;
        EXPECT_LT(candidate.expected_s, 5);
      }
    }
  }
  EXPECT_EQ(last, "gather");
  EXPECT_LE(calls["servers"] + calls["nodes"], 4);
  EXPECT_LE(calls["ring"], 2);
}

// Whatever class it is of: twelve calls of 10 s are worse than a trial of what claims to take 2.
TEST(Selector, TriesWhatItsModelPutsBelowTheMeasuredTime) {
  FixedCost first("first", 1.0), second("second", 1.2), third("third", 2.0);
  Selectors all(2, {&first, &second, &third});
  std::string last;
  for (int call = 0; call < 12; ++call) {
    last = all.call();
    all.took(last == "third" ? 2.2 : 10.0);
  }
  EXPECT_EQ(last, "third");
}

TEST(Selector, TriesEachSchemeTwiceAtMost) {
  FixedCost best("best", 1.0), second("second", 1.1), third("third", 1.2);
  Selectors all(2, {&best, &second, &third});
  std::map<std::string, int> calls;
  for (int call = 0; call < 200; ++call) {
    const std::string chosen = all.call();
    ++calls[chosen];
    all.took(chosen == "best" ? 4.0 : 6.0);
  }
  EXPECT_EQ(calls["second"], 2);
  EXPECT_EQ(calls["third"], 2);
}

TEST(Selector, OneNoisySampleDoesNotSinkAScheme) {
  FixedCost slow("slow", 1.0), fast("fast", 1.1);
  Selectors all(2, {&slow, &fast});
  std::string last;
  bool was_noisy = false;
  for (int call = 0; call < 200; ++call) {
    last = all.call();
    const bool noise = last == "fast" && !was_noisy;
    was_noisy = was_noisy || noise;
    all.took(noise ? 90.0 : last == "fast" ? 1.2 : 5.0);
  }
  EXPECT_TRUE(was_noisy);
  EXPECT_EQ(last, "fast");
}

TEST(Selector, AColdFirstCallDoesNotSinkTheBest) {
  FixedCost best("best", 1.0), other("other", 1.2);
  Selectors all(2, {&best, &other});
  for (int call = 0; call < 10; ++call) {
    EXPECT_EQ(all.call(), "best");
    all.took(call == 0 ? 50 : 1.1);
  }
}

TEST(Selector, RunsTheModelsAgainOnlyWhenCountsMove) {
  FixedCost one("one", 1.0), other("other", 1.2);
  Selectors all(1, {&one, &other});
  all.workload().density = 0.01;
  for (int call = 0; call < 40; ++call) {
    if (call == 20) all.workload().density = 0.0103;
    all.call();
    all.took(call % 2 == 0 ? 1.0 : 1.1);
  }
  EXPECT_EQ(one.num_costs(), 2);  // the two profiles
  all.workload().density = 0.0108;
  all.call();
  all.call();
  EXPECT_EQ(one.num_costs(), 3);
}

TEST(Selector, OldTimesOfASchemeAreForgotten) {
  FixedCost only("only", 3);
  Selectors all(2, {&only});
  for (int call = 0; call < 48; ++call) {
    all.call();
    all.took(call < 40 ? 3.0 : 1.0);
  }
  all.call();
  EXPECT_EQ(all.of(0).ranking().front().measured_s, 1.0);
}

// One sample may be noise, but a scheme that took ten times as long is not tried again at once.
TEST(Selector, AHopelessSchemeIsTriedAgainOnlyAfterAnotherProfile) {
  FixedCost best("best", 1.0), other("other", 1.1);
  Selectors all(2, {&best, &other});
  int tried = 0;
  for (int call = 0; call < 200; ++call) {
    const std::string chosen = all.call();
    tried += chosen == "other" ? 1 : 0;
    all.took(chosen == "best" ? 4.0 : 40.0);
    if (call != 60) continue;
    EXPECT_EQ(tried, 1) << "the next profile is made in call 65";
  }
  EXPECT_EQ(tried, 2);
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
  EXPECT_EQ(all.of(0).problem().union_blocks[1], 391) << "more are not there";
}

TEST(Selector, NamesTheRankWhoseHeaderIsGarbage) {
  FixedCost only("only", 1);
  SelectorOptions options;
  const Scheme* candidates[] = {&only};
  options.candidates = candidates;
  Selector selector(options);
  sparse::SyntheticOptions workload;
  workload.domain = {1000, 1};
  std::vector<ByteBuffer> headers;
  for (int rank = 0; rank < 3; ++rank) {
    headers.push_back(selector.header(sparse::synthetic_gradient(workload, rank, 3, 1), 3));
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
  // The model's figure stays beside what the measured call makes of it.
  all.call();
  const std::string later = all.of(1).explanation();
  EXPECT_NE(later.find("1.000        2.000        2.000      1"), std::string::npos) << later;
  EXPECT_NE(text.find("without the exchange of headers"), std::string::npos);
  EXPECT_NE(text.find("fast_scheme"), std::string::npos);
  EXPECT_NE(text.find("<- chosen: the least expected time"), std::string::npos);
  EXPECT_NE(text.find("cannot run: told so"), std::string::npos);
  EXPECT_NE(text.find("this call took 2.000 ms here"), std::string::npos);
}

TEST(LinkProbe, FindsTheSimulatedLinksOnEveryRankAlike) {
  for (const int per_node : {1, 4}) {
    transport::simulated::NetworkOptions network;
    network.world = 8;
    network.latency_s = 50e-6;
    network.bandwidth_bytes_per_s = 1.25e8;
    network.message_gap_s = 3e-6;
    network.ranks_per_node = per_node;
    network.node_latency_s = 4e-6;
    network.node_bandwidth_bytes_per_s = 2e9;
    std::vector<LinkModel> found(8);
    transport::simulated::run_ranks(network, [&](Transport& transport) {
      Communicator ranks(transport, 1, Deadline::after(std::chrono::seconds(60)));
      std::vector<std::uint64_t> nodes;
      for (int rank = 0; rank < 8; ++rank)
        nodes.push_back(static_cast<std::uint64_t>(rank / per_node));
      found[static_cast<std::size_t>(transport.rank())] =
          probe_links(ranks, nodes, [&] { return transport::simulated::now(transport); });
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

// In odd worlds and among uneven nodes too, at the cost that link_probe.h states.
TEST(LinkProbe, EveryRankTakesPart) {
  const std::vector<std::vector<std::uint64_t>> worlds = {
      {0, 0},          {0, 1},          {0, 1, 2},          {0, 0, 0},
      {0, 1, 2, 3, 4}, {0, 0, 0, 1, 1}, {0, 0, 1, 1, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0}};
  for (const auto& nodes : worlds) {
    transport::simulated::NetworkOptions network;
    network.world = static_cast<int>(nodes.size());
    std::vector<std::uint64_t> sent(nodes.size()), steps(nodes.size());
    transport::simulated::run_ranks(network, [&](Transport& transport) {
      Communicator ranks(transport, 1, Deadline::after(std::chrono::seconds(60)));
      probe_links(ranks, nodes, [&] { return transport::simulated::now(transport); });
      sent[static_cast<std::size_t>(transport.rank())] = transport.traffic().bytes_sent();
      steps[static_cast<std::size_t>(transport.rank())] = transport.traffic().steps;
    });
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
      EXPECT_GT(sent[rank], 7'000'000u) << rank << " of " << nodes.size();
      EXPECT_LE(sent[rank], 32'000'000u) << rank << " of " << nodes.size();
      EXPECT_LE(steps[rank], 160u) << rank << " of " << nodes.size();
    }
  }
}

TEST(LinkProbe, GivesUsableNumbersOnThreads) {
  std::vector<MachineModel> found(4);
  transport::simulated::NetworkOptions network;
  network.world = 4;
  transport::simulated::run_ranks(network, [&](Transport& transport) {
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
