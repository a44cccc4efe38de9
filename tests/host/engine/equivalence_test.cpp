// SPDX-License-Identifier: Apache-2.0
//
// The same prompts give the same tokens however the work is placed, cut, shared or interrupted.
//
// The oracle is one request at a time on one CPU unit, whole prompts in one step, no prefix cache;
// that configuration itself is held to golden values of real models in golden_test.cpp.
#include <filesystem>
#include <set>

#include "host/engine/equivalence.h"

namespace tandem::engine {
namespace {

TEST_F(Equivalence, TheRandomModelIsNotTrivial) {
  std::set<model::TokenId> distinct;
  for (const Answer& answer : expected()) {
    ASSERT_EQ(answer.tokens.size(), static_cast<std::size_t>(kOutput));
    distinct.insert(answer.tokens.begin(), answer.tokens.end());
  }
  EXPECT_GT(distinct.size(), 20u);
}

TEST_F(Equivalence, OfOneAndSixteenConcurrentRequests) {
  expect_same(rig_.cpu_units({256}), {}, false);
  expect_same(rig_.cpu_units({256}), {}, true);
}

TEST_F(Equivalence, OfEveryChunkSize) {
  for (const int chunk : {1, 7, 16, 33, 256}) {
    SCOPED_TRACE(chunk);
    EngineOptions options;
    options.max_step_tokens = chunk;
    expect_same(rig_.cpu_units({256}), options);
  }
}

TEST_F(Equivalence, OfTwoUnitsInEitherPlacementWithOneOrTwoSubBatches) {
  for (const Placement placement : {Placement::kSequences, Placement::kPages}) {
    for (const int sub_batches : {1, 2}) {
      for (const int chunk : {7, 256}) {
        SCOPED_TRACE(testing::Message() << "pages " << (placement == Placement::kPages)
                                        << " sub-batches " << sub_batches << " chunk " << chunk);
        EngineOptions options;
        options.placement = placement;
        options.num_sub_batches = sub_batches;
        options.max_step_tokens = chunk;
        expect_same(rig_.cpu_units({128, 128}), options);
        for (const UnitStatus& unit : status_.units) EXPECT_GT(unit.stats.launches, 0u);
      }
    }
  }
}

TEST_F(Equivalence, OfThreeUnlikeUnitsSplitByPages) {
  EngineOptions options;
  options.placement = Placement::kPages;
  options.num_sub_batches = 2;
  std::vector<NamedUnit> units = rig_.cpu_units({100});
  units.push_back(rig_.naive_unit("near", {.num_pages = 60, .has_link = false}));
  units.push_back(
      rig_.naive_unit("far", {.num_pages = 60, .delay = std::chrono::microseconds(50)}));
  expect_same(std::move(units), options);
}

TEST_F(Equivalence, WithAndWithoutPrefixCache) {
  EngineOptions options;
  options.prefix_cache = false;
  expect_same(rig_.cpu_units({256}), options);
  EXPECT_EQ(status_.cached_tokens, 0u);
  options.prefix_cache = true;
  expect_same(rig_.cpu_units({256}), options, false);
  EXPECT_GE(status_.cached_tokens, 32u + 2 * 48u) << "the shared prefix was found";
}

TEST_F(Equivalence, UnderPagePressure) {
  for (const Placement placement : {Placement::kSequences, Placement::kPages}) {
    EngineOptions options;
    options.placement = placement;
    options.max_step_tokens = 64;
    expect_same(rig_.cpu_units({8, 7}), options);
    EXPECT_GT(status_.preemptions, 0u);
    EXPECT_LE(status_.units[0].pages_total, 8u);
  }
}

TEST_F(Equivalence, OfUnitsLostInMidStream) {
  for (const std::uint64_t lose_after : {0, 1, 5, 30, 49, 90}) {
    SCOPED_TRACE(lose_after);
    EngineOptions options;
    options.placement = Placement::kPages;
    options.num_sub_batches = lose_after % 2 == 0 ? 2 : 1;
    std::vector<NamedUnit> units = rig_.cpu_units({256});
    units.push_back(rig_.naive_unit("mortal", {.num_pages = 128, .lose_after = lose_after}));
    expect_same(std::move(units), options);
    EXPECT_FALSE(status_.units[1].alive);
    EXPECT_EQ(status_.units[1].pages_total, 0u);
    EXPECT_GT(status_.rebuilt_sequences, 0u);
  }
}

TEST_F(Equivalence, OfAUnitThatStopsAnsweringAndLaterTouchesWhatItBorrowed) {
  EngineOptions options;
  options.placement = Placement::kPages;
  options.num_sub_batches = 2;
  options.device_timeout = std::chrono::milliseconds(500);
  std::vector<NamedUnit> units = rig_.cpu_units({256});
  units.push_back(rig_.naive_unit(
      "stuck", {.num_pages = 128, .slow_batch = 21, .slow_for = std::chrono::seconds(3)}));
  expect_same(std::move(units), options);
  EXPECT_FALSE(status_.units[1].alive);
}

TEST_F(Equivalence, OfTheFallbackWhenTheLastUnitIsLost) {
  std::vector<NamedUnit> units;
  units.push_back(rig_.naive_unit("a", {.num_pages = 128, .lose_after = 20}));
  units.push_back(rig_.naive_unit("b", {.num_pages = 128, .lose_after = 35}));
  int calls = 0;
  auto engine = rig_.engine(std::move(units), {}, [&] {
    ++calls;
    return rig_.cpu_unit(100);
  });
  compare(run_all(*engine, requests()));
  EXPECT_EQ(calls, 1);
  const EngineStatus status = engine->status();
  ASSERT_EQ(status.units.size(), 3u);
  EXPECT_FALSE(status.units[0].alive);
  EXPECT_FALSE(status.units[1].alive);
  EXPECT_TRUE(status.units[2].alive);
}

TEST_F(Equivalence, OfEightBitPagesAmongThemselves) {
  EngineOptions options;
  options.prefix_cache = false;
  std::vector<NamedUnit> units;
  units.push_back(rig_.cpu_unit(64, DType::kI8));
  auto plain = rig_.engine(std::move(units), options);
  std::vector<Answer> alone;
  for (const Request& request : requests()) alone.push_back(run_all(*plain, {request}).front());
  options = {};
  options.placement = Placement::kPages;
  options.max_step_tokens = 23;
  units.clear();
  units.push_back(rig_.cpu_unit(100, DType::kI8));
  units.push_back(rig_.cpu_unit(100, DType::kI8));
  auto split = rig_.engine(std::move(units), options);
  const std::vector<Answer> together = run_all(*split, requests());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(together[i].tokens, alone[i].tokens) << "request " << i;
  }
}

TEST_F(Equivalence, OfSeededSamplingUnderPreemptionAndLoss) {
  const auto sampled = [&] {
    std::vector<Request> all = requests();
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].sampling.temperature = 0.8f;
      all[i].sampling.top_p = 0.95f;
      all[i].sampling.repetition_penalty = 1.1f;
      all[i].sampling.seed = i;
    }
    return all;
  };
  EngineOptions options;
  options.prefix_cache = false;
  auto plain = rig_.engine(rig_.cpu_units({256}), options);
  std::vector<Answer> alone;
  for (const Request& request : sampled()) alone.push_back(run_all(*plain, {request}).front());
  std::vector<NamedUnit> units = rig_.cpu_units({14});
  units.push_back(rig_.naive_unit("mortal", {.num_pages = 8, .lose_after = 100}));
  options.placement = Placement::kPages;
  auto engine = rig_.engine(std::move(units), options);
  const std::vector<Answer> answers = run_all(*engine, sampled());
  // A draw within rounding of the border between two tokens may fall to either side (measured: 1 of
  // 192 sequences); a sampler that advanced twice would change nearly every one.
  std::size_t num_same = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    num_same += answers[i].tokens == alone[i].tokens ? 1 : 0;
  }
  EXPECT_GE(num_same + 1, answers.size());
  const EngineStatus status = engine->status();
  EXPECT_GT(status.preemptions, 0u);
  EXPECT_FALSE(status.units[1].alive);
}

class FamilyEquivalence : public Equivalence, public testing::WithParamInterface<const char*> {
 protected:
  FamilyEquivalence() : FamilyEquivalence(saved_family(GetParam())) {}

 private:
  explicit FamilyEquivalence(const std::string& path) : Equivalence(path) {
    std::filesystem::remove(path);  // the mapping keeps it
  }
};

TEST_P(FamilyEquivalence, OfEveryChunkSizeOnOneUnitAndTwo) {
  for (const int chunk : {1, 7, 33, 256}) {
    SCOPED_TRACE(chunk);
    EngineOptions options;
    options.max_step_tokens = chunk;
    expect_same(rig_.cpu_units({256}), options);
    options.placement = Placement::kPages;
    options.num_sub_batches = 2;
    expect_same(rig_.cpu_units({128, 128}), options);
  }
}

TEST_P(FamilyEquivalence, UnderPagePressure) {
  EngineOptions options;
  options.placement = Placement::kPages;
  options.max_step_tokens = 64;
  expect_same(rig_.cpu_units({8, 7}), options);
  EXPECT_GT(status_.preemptions, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, FamilyEquivalence,
                         testing::Values("mistral", "qwen2moe", "gemma2", "gemma3"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tandem::engine
