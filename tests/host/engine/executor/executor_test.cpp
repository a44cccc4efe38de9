// SPDX-License-Identifier: Apache-2.0
//
// The executor's logits against golden values of real models, and its report of lost units.
#include "engine/executor/executor.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "host/engine/engine_rig.h"
#include "host/model/shared_models.h"
#include "support/reference/model.h"

namespace tandem::engine {
namespace {

using nlohmann::json;

// One sequence, teacher-forced: the logits behind every token from `first` on.
std::vector<std::vector<float>> logits_of(EngineRig& rig, const std::vector<model::TokenId>& tokens,
                                          std::size_t chunk) {
  const NamedUnit unit = rig.cpu_unit(16);
  KvCache kv(16, Placement::kSequences, false);
  kv.add_unit(16, 1.0);
  ExecutorOptions options;
  options.max_logit_rows = 5;  // several output projections per step
  Executor executor(rig.model(), rig.compute(), options);
  executor.add_unit(*unit.unit);
  PageTable table;
  EXPECT_TRUE(kv.extend(table, tokens.size()));
  std::vector<std::vector<float>> logits;
  for (std::size_t begin = 0; begin < tokens.size(); begin += chunk) {
    const auto rows = std::span(tokens).subspan(begin, std::min(chunk, tokens.size() - begin));
    const RunnerItem item{rows, table.blocks, static_cast<int>(begin), LogitRows::kAll, 0};
    const auto lost = executor.run({&item, 1}, [&](std::size_t, int row, auto values) {
      EXPECT_EQ(begin + static_cast<std::size_t>(row), logits.size()) << "in order";
      logits.emplace_back(values.begin(), values.end());
    });
    EXPECT_TRUE(lost.empty());
  }
  return logits;
}

// With quantised weights activations are rounded to int8. Over all rows of the prompts below, the
// largest error of a logit is less than 0.36 for Q8_0 and 0.40 for Q4_0, with AVX2 and with
// AVX-512.
double tolerance_to_exact(const std::string& name) {
  if (name.ends_with("q4_0")) return 0.45;
  return name.ends_with("q8_0") ? 0.4 : 0.02;
}

// The recorded logits are another engine's, which rounds too and has errors of its own.
double tolerance_to_records(const std::string& name) {
  if (name.ends_with("q4_0")) return 0.35;
  return name.ends_with("q8_0") ? 0.35 * std::numbers::sqrt2 : 0.02;
}

class GoldenLogits : public testing::TestWithParam<const char*> {};

TEST_P(GoldenLogits, LieWithinTheToleranceOfTheReference) {
  const std::string name = GetParam();
  const auto path = test::shared_models() / (name + ".gguf");
  TANDEM_REQUIRE_FILE(path);
  const json model =
      json::parse(test::read_text(test::shared_models() / "golden.json"))["models"][name];
  EngineRig rig(path);
  const double tolerance = tolerance_to_records(name), to_exact = tolerance_to_exact(name);
  ASSERT_EQ(model["prompts"].size(), 3u);
  for (const auto& prompt : model["prompts"]) {
    auto tokens = prompt["prompt_ids"].get<std::vector<model::TokenId>>();
    const auto output = prompt["out_ids"].get<std::vector<model::TokenId>>();
    const auto gaps = prompt["top1_top2_gap"].get<std::vector<double>>();
    const std::size_t first = tokens.size() - 1;
    tokens.insert(tokens.end(), output.begin(), output.end() - 1);
    const auto exact = reference::logits(rig.model(), tokens);
    for (const std::size_t chunk : {tokens.size(), std::size_t{1}}) {
      SCOPED_TRACE(chunk);
      const auto logits = logits_of(rig, tokens, chunk);
      ASSERT_EQ(logits.size(), tokens.size());
      for (const auto& [key, row] :
           {std::pair("logits_first", first), std::pair("logits_last", tokens.size() - 1)}) {
        EXPECT_THAT(logits[row],
                    testing::Pointwise(testing::FloatNear(static_cast<float>(tolerance)),
                                       prompt[key].get<std::vector<float>>()));
      }
      for (std::size_t row = 0; row < tokens.size(); ++row) {
        const std::vector<float> expected(exact[row].begin(), exact[row].end());
        EXPECT_THAT(logits[row],
                    testing::Pointwise(testing::FloatNear(static_cast<float>(to_exact)), expected))
            << "row " << row;
      }
      for (std::size_t i = 0; i < output.size(); ++i) {
        if (gaps[i] <= 2 * tolerance) continue;
        const auto& row = logits[first + i];
        EXPECT_EQ(std::ranges::max_element(row) - row.begin(), output[i]) << "token " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenLogits,
                         testing::Values("stories260K-f32", "stories260K-f16",
                                         "stories260K-pad192-q8_0", "stories260K-pad192-q4_0"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Executor, NamesTheUnitThatWasLostAndShowsNoLogits) {
  EngineRig rig;
  const NamedUnit cpu = rig.cpu_unit(8);
  const NamedUnit mortal = rig.naive_unit("mortal", {.num_pages = 8, .lose_after = 3});
  Executor executor(rig.model(), rig.compute(), {});
  executor.add_unit(*cpu.unit);
  executor.add_unit(*mortal.unit);
  const auto tokens = rig.prompt(20, 1);
  const BlockPlace blocks[] = {{0, 0}, {1, 0}};
  const RunnerItem item{tokens, blocks, 0, LogitRows::kLast, 0};
  int calls = 0;
  const auto sink = [&](std::size_t, int, std::span<const float>) { ++calls; };
  EXPECT_THAT(executor.run({&item, 1}, sink), testing::IsEmpty());
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(executor.run({&item, 1}, sink), testing::ElementsAre(1));
  EXPECT_EQ(calls, 1);
  const BlockPlace rest[] = {{0, 0}, {0, 1}};
  const RunnerItem again{tokens, rest, 0, LogitRows::kLast, 0};
  EXPECT_THAT(executor.run({&again, 1}, sink), testing::IsEmpty());
  EXPECT_EQ(calls, 2);
}

TEST(Executor, LetsArgumentErrorsPassAndStaysUsable) {
  EngineRig rig;
  const NamedUnit naive = rig.naive_unit("small", {.num_pages = 2});
  Executor executor(rig.model(), rig.compute(), {});
  executor.add_unit(*naive.unit);
  const auto tokens = rig.prompt(20, 1);
  const BlockPlace outside[] = {{0, 0}, {0, 2}}, inside[] = {{0, 0}, {0, 1}};
  const RunnerItem bad{tokens, outside, 0, LogitRows::kLast, 0};
  const RunnerItem good{tokens, inside, 0, LogitRows::kLast, 0};
  const auto sink = [](std::size_t, int, std::span<const float>) {};
  EXPECT_ANY_THROW(executor.run({&bad, 1}, sink));
  EXPECT_THAT(executor.run({&good, 1}, sink), testing::IsEmpty());
}

// Two layers: it is asked once, since the second is in the last quarter of the way.
TEST(Executor, AnInterruptedStepShowsNoLogitsAndGivesTheSameWhenItRunsAgain) {
  EngineRig rig;
  NamedUnit units[] = {rig.cpu_unit(8), rig.naive_unit("host", {.num_pages = 8})};
  for (const NamedUnit& unit : units) {
    Executor executor(rig.model(), rig.compute(), {});
    executor.add_unit(*unit.unit);
    ASSERT_TRUE(executor.follows_rows());
    const auto tokens = rig.prompt(20, 1);
    const BlockPlace blocks[] = {{0, 0}, {0, 1}};
    const RunnerItem item{tokens, blocks, 0, LogitRows::kLast, 0};
    std::vector<std::vector<float>> shown;
    const auto sink = [&](std::size_t, int, std::span<const float> logits) {
      shown.emplace_back(logits.begin(), logits.end());
    };
    int num_asked = 0;
    for (const bool interrupts : {false, true, false}) {
      executor.interrupt_when([&] { return ++num_asked, interrupts; });
      EXPECT_THAT(executor.run({&item, 1}, sink), testing::IsEmpty());
    }
    EXPECT_EQ(num_asked, 3);
    ASSERT_EQ(shown.size(), 2u);
    EXPECT_EQ(shown[0], shown[1]);
  }
}

}  // namespace
}  // namespace tandem::engine
