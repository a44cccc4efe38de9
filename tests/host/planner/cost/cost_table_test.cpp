// SPDX-License-Identifier: Apache-2.0
//
// Curves, the table's look-ups and corrections, and the table as text.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "common/error.h"
#include "planner/cost/cost_model.h"
#include "planner/cost/cost_table_json.h"

namespace tandem::planner {
namespace {

using ::testing::HasSubstr;

TEST(Curve, IsLinearBetweenItsPointsAndGoesOnBehindThem) {
  const Curve curve({{1, 2}, {3, 4}, {4, 8}});
  EXPECT_DOUBLE_EQ(curve(0), 2);
  EXPECT_DOUBLE_EQ(curve(1), 2);
  EXPECT_DOUBLE_EQ(curve(2), 3);
  EXPECT_DOUBLE_EQ(curve(3), 4);
  EXPECT_DOUBLE_EQ(curve(3.5), 6);
  EXPECT_DOUBLE_EQ(curve(10), 32);
  EXPECT_DOUBLE_EQ(Curve()(7), 0);
  EXPECT_DOUBLE_EQ(Curve({{5, 3}})(9), 3);
  EXPECT_DOUBLE_EQ(Curve::line(1, 2)(10), 21);
}

TEST(Curve, RefusesPointsThatAreNoTime) {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (const CurvePoint second : {CurvePoint{1, 5}, {2, 1}, {2, nan}, {nan, 5}, {infinite, 5}}) {
    EXPECT_THROW(Curve({{1, 2}, second}), Error) << second.x << ' ' << second.y;
  }
  EXPECT_THROW(Curve({{-1, 2}}), Error);
  EXPECT_THROW(Curve({{1, -2}}), Error);
}

TEST(Curve, ACorrectionMovesTimesNearItAndKeepsTheirOrder) {
  const Curve curve({{1, 1}, {2, 2}, {4, 4}, {8, 8}});
  EXPECT_EQ(curve.corrected_at(4, 1.5), Curve({{1, 1}, {2, 2}, {4, 6}, {8, 8}}));
  EXPECT_EQ(curve.corrected_at(4, 3), Curve({{1, 1}, {2, 2}, {4, 12}, {8, 12}}));
  EXPECT_EQ(curve.corrected_at(4, 0.25), Curve({{1, 1}, {2, 1}, {4, 1}, {8, 8}}));
  EXPECT_EQ(curve.corrected_at(64, 2), Curve({{1, 1}, {2, 2}, {4, 4}, {8, 16}})) << "the nearest";
  EXPECT_TRUE(Curve().corrected_at(4, 2).empty());
}

TEST(Curve, RepeatedCorrectionsReachWhatIsMeasuredBetweenPoints) {
  Curve curve({{1, 1}, {2, 1}, {4, 2}, {8, 4}});
  for (int i = 0; i < 200; ++i) curve = curve.corrected_at(3, corrected(1, curve(3), 5));
  EXPECT_NEAR(curve(3), 5, 0.05);
}

AttentionCost some_attention() {
  AttentionCost cost;
  cost.kind = {4, DType::kI8};
  cost.by_tokens = Curve::line(1, 0.5);
  cost.per_pair_s = 0.125;
  cost.per_row_s = 0.25;
  cost.rows_per_read = 8;
  cost.correction = 2;
  return cost;
}

TEST(AttentionCost, IsTheLongerOfMemoryAndArithmetic) {
  const AttentionCost cost = some_attention();
  EXPECT_DOUBLE_EQ(cost.seconds({2, 10, 10}), 2 * (6 + 0.5));
  EXPECT_DOUBLE_EQ(cost.seconds({2, 10, 80}), 2 * (10 + 0.5));
  EXPECT_DOUBLE_EQ(cost.seconds({0, 10, 80}), 0) << "no row asks";
  const AttentionWork work = cost.work_of(17, 100);
  EXPECT_DOUBLE_EQ(work.rows, 17);
  EXPECT_DOUBLE_EQ(work.tokens, 300) << "8 + 8 + 1 rows";
  EXPECT_DOUBLE_EQ(work.pairs, 1700);
}

TEST(CostModel, ACorrectionConvergesAndFollowsAJumpAtOnce) {
  double correction = 1;
  for (int i = 0; i < 60; ++i) correction = corrected(correction, 2 * correction, 3);
  EXPECT_NEAR(correction, 1.5, 0.01);
  EXPECT_DOUBLE_EQ(corrected(1, 1, 10), 10);
  EXPECT_DOUBLE_EQ(corrected(1, 10, 1), 0.1);
  EXPECT_DOUBLE_EQ(corrected(1.5, 0, 10), 1.5);
  EXPECT_DOUBLE_EQ(corrected(1.5, 10, 0), 1.5);
  EXPECT_DOUBLE_EQ(corrected(1, 1, 2), 1.125) << "one slow step is not believed";
}

CostTable some_table() {
  DeviceCost gpu;
  gpu.id = "cuda:0", gpu.driver = "535.1";
  gpu.dense_by_rows = Curve({{1, 0.1}, {64, 0.1 + 1e-17}, {128, 1.0 / 3}});
  gpu.dense_correction = 1.25;
  gpu.attention = {some_attention()};
  gpu.launch_s = 3e-6, gpu.merge_row_s = 1e-8, gpu.sampling_row_s = 2e-8, gpu.sampling_s = 5e-8,
  gpu.page_move_s = 4e-4;
  gpu.causal_pair_s = 5e-9;
  DeviceCost card;
  card.id = "xrt:0", card.driver = "2.14";
  card.attention = {some_attention(), some_attention()};
  card.attention[1].kind = {1, DType::kF16};
  card.to_device = {2e-6, 13e9}, card.from_device = {3e-6, 12e9};
  return {{"machine a", "llama", "kv=i8"}, {gpu, card}};
}

WantedCosts wanted_of(const CostTable& table) {
  WantedCosts wanted{table.key, {}};
  for (const DeviceCost& device : table.devices) wanted.drivers[device.id] = device.driver;
  return wanted;
}

TEST(CostTableText, ComesBackToTheLastBit) {
  const CostTable table = some_table();
  const CostTableRead read = read_cost_table(write_cost_table(table), wanted_of(table));
  ASSERT_TRUE(read.table) << read.refusal;
  EXPECT_EQ(*read.table, table);
  EXPECT_EQ(read.table->find("xrt:0")->attention_of({1, DType::kF16})->kind.head_group, 1);
  EXPECT_EQ(read.table->find("xrt:0")->attention_of({2, DType::kF16}), nullptr);
  EXPECT_EQ(read.table->find("xrt:1"), nullptr);
}

TEST(CostTableText, OfAnythingElseIsRefusedInOneLine) {
  const CostTable table = some_table();
  const std::string text = write_cost_table(table);
  const auto refusal = [&](auto change) {
    WantedCosts wanted = wanted_of(table);
    change(wanted);
    const CostTableRead read = read_cost_table(text, wanted);
    EXPECT_FALSE(read.table);
    EXPECT_EQ(read.refusal.find('\n'), std::string::npos);
    return read.refusal;
  };
  EXPECT_THAT(refusal([](WantedCosts& w) { w.key.machine = "b"; }), HasSubstr("another machine"));
  EXPECT_THAT(refusal([](WantedCosts& w) { w.key.model = "b"; }), HasSubstr("another model"));
  EXPECT_THAT(refusal([](WantedCosts& w) { w.key.options = "b"; }), HasSubstr("options"));
  EXPECT_THAT(refusal([](WantedCosts& w) { w.drivers["cuda:0"] = "540"; }),
              HasSubstr("another driver of cuda:0: '535.1', not '540'"));
  EXPECT_THAT(refusal([](WantedCosts& w) { w.drivers["xrt:9"] = ""; }), HasSubstr("no device"));
  EXPECT_THAT(refusal([](WantedCosts& w) { w.drivers.erase("xrt:0"); }), HasSubstr("gone"));
}

TEST(CostTableText, IsRefusedWhereverItIsTruncated) {
  const CostTable table = some_table();
  const std::string text = write_cost_table(table);
  for (std::size_t size = 0; size + 2 < text.size(); size += 7) {
    const CostTableRead read = read_cost_table(text.substr(0, size), wanted_of(table));
    EXPECT_FALSE(read.table) << size;
    EXPECT_THAT(read.refusal, HasSubstr("cannot be read"));
  }
}

TEST(CostTableText, WithValuesThatAreNoTimesIsRefused) {
  const std::string text = write_cost_table(some_table());
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    EXPECT_FALSE(read_cost_table(changed).table) << to;
  };
  refused("\"version\": 3", "\"version\": 1");
  refused("\"launch_s\": 3e-06", "\"launch_s\": -1");
  refused("\"launch_s\": 3e-06", "\"launch_s\": \"3\"");
  refused("\"launch_s\"", "\"launch\"");
  refused("\"kv_dtype\": \"i8\"", "\"kv_dtype\": \"i9\"");
  refused("\"head_group\": 4", "\"head_group\": 0");
  refused("\"rows_per_read\": 8", "\"rows_per_read\": 0");
  refused("\"correction\": 2.0", "\"correction\": 0");
  refused("\"dense_correction\": 1.25", "\"dense_correction\": 0");
}

}  // namespace
}  // namespace tandem::planner
