// SPDX-License-Identifier: Apache-2.0
//
// Queries that are sent before k and v are projected: the same tokens, with one submission more.
#include "engine/attention/early_query.h"
#include "host/engine/equivalence.h"
#include "support/queued_compute_unit.h"

namespace tandem::engine {
namespace {

class EarlyQueries : public Equivalence {
 protected:
  using Equivalence::Equivalence;

  std::vector<NamedUnit> units(std::uint64_t lose_after = ~std::uint64_t{0}) const {
    std::vector<NamedUnit> units;
    units.push_back(rig_.naive_unit("card", {.num_pages = 128, .lose_after = lose_after}));
    units.push_back(rig_.naive_unit("host", {.num_pages = 128, .has_link = false}));
    return units;
  }
};

TEST_F(EarlyQueries, ChangeNoToken) {
  for (const Placement placement : {Placement::kSequences, Placement::kPages}) {
    for (const int sub_batches : {1, 2}) {
      for (const int chunk : {7, 256}) {
        EngineOptions options;
        options.early_query = EarlyQuery::kOn;
        options.placement = placement;
        options.num_sub_batches = sub_batches;
        options.max_step_tokens = chunk;
        expect_same(units(), options);
        test::QueuedComputeUnit compute(rig_.compute());
        auto engine = rig_.engine_on(compute, units(), options);
        compare(run_all(*engine, requests()));
      }
    }
  }
}

TEST_F(EarlyQueries, SubmitOnceMoreToUnitsBehindALink) {
  const std::vector<Request> one = {greedy(rig_.prompt(20, 1), 10)};
  std::uint64_t launches[2];
  for (const bool early : {false, true}) {
    EngineOptions options;
    options.early_query = early ? EarlyQuery::kOn : EarlyQuery::kOff;
    std::vector<NamedUnit> card;
    card.push_back(rig_.naive_unit("card", {.num_pages = 128}));
    auto engine = rig_.engine(std::move(card), options);
    run_all(*engine, one);
    launches[early] = engine->status().units[0].stats.launches;
  }
  const auto layers = static_cast<std::uint64_t>(rig_.model().config().num_layers);
  EXPECT_EQ(launches[0], layers * 10);
  EXPECT_EQ(launches[1], layers * (10 + 9)) << "a first chunk has no past to ask for";
}

TEST_F(EarlyQueries, LoseNoTokenWithAUnit) {
  for (const std::uint64_t lose_after : {1, 5, 30, 49, 90}) {
    EngineOptions options;
    options.early_query = EarlyQuery::kOn;
    options.num_sub_batches = lose_after % 2 == 0 ? 2 : 1;
    expect_same(units(lose_after), options);
    EXPECT_FALSE(status_.units[0].alive);
  }
}

class EarlyFamily : public EarlyQueries {
 protected:
  EarlyFamily() : EarlyFamily(saved_family("gemma3")) {}

 private:
  explicit EarlyFamily(const std::string& path) : EarlyQueries(path) {
    std::filesystem::remove(path);  // the mapping keeps it
  }
};

TEST_F(EarlyFamily, SeeTheSameWindows) {
  for (const int chunk : {1, 5, 256}) {
    EngineOptions options;
    options.early_query = EarlyQuery::kOn;
    options.placement = Placement::kPages;
    options.max_step_tokens = chunk;
    expect_same(units(), options);
  }
}

TEST(EarlyQuery, IsSentAutomaticallyWhereProjectingTakesLongerThanSubmitting) {
  device::AttentionCapacity card;
  card.link_bandwidth_bytes_per_s = 1e10;
  card.link_latency_us = 20;
  EXPECT_TRUE(sends_early_query(EarlyQuery::kAuto, card, 30e-6));
  EXPECT_FALSE(sends_early_query(EarlyQuery::kAuto, card, 10e-6));
  EXPECT_FALSE(sends_early_query(EarlyQuery::kAuto, card, 0)) << "unknown";
  EXPECT_TRUE(sends_early_query(EarlyQuery::kOn, card, 0));
  EXPECT_FALSE(sends_early_query(EarlyQuery::kOff, card, 1));
  card.link_latency_us = 0;
  EXPECT_FALSE(sends_early_query(EarlyQuery::kAuto, card, 1)) << "unknown";
  EXPECT_FALSE(sends_early_query(EarlyQuery::kOn, {}, 1)) << "there is no link";
}

}  // namespace
}  // namespace tandem::engine
