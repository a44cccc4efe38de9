// SPDX-License-Identifier: Apache-2.0
//
// Row-sparse gradients against naive means.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "host/training/reducer/reducers.h"

namespace tandem::training::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Rows {
  std::vector<std::int64_t> rows;
  Values values;  // [rows, 2]
};

struct Mean {
  std::vector<std::uint32_t> rows;
  Values values;
};

Mean mean_of(Reducer& reducer, std::uint32_t parameter, const Rows& own) {
  const Ticket ticket = reducer.submit_rows(
      {.parameter = parameter, .rows = own.rows, .values = own.values.data(), .last = true});
  reducer.wait(ticket, Deadline::never());
  const collectives::SparseTensor tensor = reducer.take_rows(ticket);
  const auto rows = tensor.indices_as<std::uint32_t>();
  const auto values = tensor.values_as<float>();
  return {{rows.begin(), rows.end()}, {values.begin(), values.end()}};
}

// What ranks 0, 1, 2 have: repeated, unsorted; nothing; one row.
const std::vector<Rows> kOwn = {
    {{7, 3, 7}, {1, 2, 3, 4, 5, 6}}, {{}, {}}, {{3}, {30, 60}}, {{9}, {8, 4}}};

TEST(ReducerRows, AreTheMeanOverAllRanksAlsoOfThoseWithoutRows) {
  for (const int world : {1, 2, 3, 4}) {
    expect_all_done(run_groups(world, [&](Group& group) {
      Reducer reducer(group, plain_options("topk", 0.1));
      const auto embed = reducer.add_parameter("embed", {10, 2});
      const Mean mean = mean_of(reducer, embed, kOwn[static_cast<std::size_t>(group.rank())]);
      std::map<std::uint32_t, std::pair<double, double>> expected;
      for (int rank = 0; rank < world; ++rank) {
        const Rows& one = kOwn[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < one.rows.size(); ++i) {
          auto& row = expected[static_cast<std::uint32_t>(one.rows[i])];
          row.first += one.values[2 * i] / double(world);
          row.second += one.values[2 * i + 1] / double(world);
        }
      }
      ASSERT_EQ(mean.rows.size(), expected.size());
      std::size_t at = 0;
      for (const auto& [row, values] : expected) {
        EXPECT_EQ(mean.rows[at], row);
        EXPECT_NEAR(mean.values[2 * at], values.first, 1e-5);
        EXPECT_NEAR(mean.values[2 * at + 1], values.second, 1e-5);
        ++at;
      }
    }));
  }
}

TEST(ReducerRows, MayBeMissingEverywhere) {
  expect_all_done(run_groups(3, [&](Group& group) {
    Reducer reducer(group, plain_options("topk", 0.1));
    const auto embed = reducer.add_parameter("embed", {10, 2});
    const Mean mean = mean_of(reducer, embed, {});
    EXPECT_TRUE(mean.rows.empty());
    EXPECT_TRUE(mean.values.empty());
  }));
}

TEST(ReducerRows, AreNeverMadeDense) {
  expect_all_done(run_groups(2, [&](Group& group) {
    Reducer reducer(group, plain_options("topk", 0.1));
    const auto embed = reducer.add_parameter("embed", {40'000'000, 2});  // 320 MB if dense
    const Mean mean =
        mean_of(reducer, embed, {{39'999'999, 5}, {1, 2, 3, static_cast<float>(group.rank())}});
    EXPECT_THAT(mean.rows, ElementsAre(5, 39'999'999));
    EXPECT_THAT(mean.values, ElementsAre(3, 0.5, 1, 2));
    EXPECT_LT(reducer.statistics().bytes_sent, 10'000u);
  }));
}

TEST(ReducerRows, Of16BitValuesAreAddedUpInFloat32) {
  expect_all_done(run_groups(2, [&](Group& group) {
    Reducer reducer(group, plain_options("topk", 0.1));
    const auto embed = reducer.add_parameter("embed", {10, 1});
    // 256 + 1 - 256: a bf16 sum of the first two would lose the 1.
    const std::vector<std::int64_t> rows = {4, 4, 4};
    const std::vector<std::uint16_t> own = {f32_to_bf16(256), f32_to_bf16(1), f32_to_bf16(-256)};
    const Ticket ticket = reducer.submit_rows({embed, rows, own.data(), DType::kBF16, true});
    reducer.wait(ticket, Deadline::never());
    const collectives::SparseTensor mean = reducer.take_rows(ticket);
    ASSERT_EQ(mean.num_entries, 1u);
    EXPECT_EQ(mean.type, DType::kBF16);
    ASSERT_EQ(mean.values.size(), 2u);
    std::uint16_t value = 0;
    std::memcpy(&value, mean.values.data(), 2);
    EXPECT_EQ(bf16_to_f32(value), 1);
  }));
}

TEST(ReducerRows, OutsideTheParameterAreTheSameErrorEverywhere) {
  for (const std::int64_t row : {std::int64_t{10}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    expect_all_done(run_groups(3, [&](Group& group) {
      Reducer reducer(group, plain_options("topk", 0.1));
      const auto embed = reducer.add_parameter("embed", {10, 2});
      Rows own{{3}, {1, 1}};
      if (group.rank() == 2) own.rows[0] = row;
      const std::string text = text_of([&] { mean_of(reducer, embed, own); });
      EXPECT_EQ(text, "[training] rank 2: row " + std::to_string(row) +
                          " is none of embed, which has 10");
      EXPECT_THAT(mean_of(reducer, embed, {{3}, {1, 1}}).rows, ElementsAre(3));
    }));
  }
}

TEST(ReducerRows, WithoutMemoryAreAnErrorEverywhere) {
  expect_all_done(run_groups(2, [&](Group& group) {
    Reducer reducer(group, plain_options("topk", 0.1));
    const auto embed = reducer.add_parameter("embed", {10, 2});
    const std::vector<std::int64_t> rows = {1};
    const Values values = {1, 2};
    const Ticket ticket = reducer.submit_rows(
        {embed, rows, group.rank() == 1 ? nullptr : values.data(), DType::kF32, true});
    EXPECT_THAT(text_of([&] { reducer.wait(ticket, Deadline::never()); }),
                HasSubstr("rank 1: rows of embed without memory"));
  }));
}

TEST(ReducerRows, AreTakenOnce) {
  expect_all_done(run_groups(1, [&](Group& group) {
    Reducer reducer(group, plain_options("topk", 0.1));
    const auto embed = reducer.add_parameter("embed", {10, 2});
    const std::vector<std::int64_t> rows = {1};
    const Values values = {1, 2};
    const Ticket ticket =
        reducer.submit_rows({.parameter = embed, .rows = rows, .values = values.data()});
    EXPECT_EQ(reducer.take_rows(ticket).num_entries, 1u);
    EXPECT_THAT(text_of([&] { reducer.take_rows(ticket); }), HasSubstr("they were taken"));
    Values bucket(20);
    const Ticket other = reducer.submit({.parameters = {&embed, 1}, .values = bucket.data()});
    reducer.wait(other, Deadline::never());
    EXPECT_THAT(text_of([&] { reducer.take_rows(other); }), HasSubstr("is not of submit_rows()"));
  }));
}

TEST(ReducerRows, ThatAreNotFiniteFollowTheOption) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const OnNonFinite choice :
       {OnNonFinite::kStop, OnNonFinite::kSkip, OnNonFinite::kClip, OnNonFinite::kPass}) {
    expect_all_done(run_groups(2, [&](Group& group) {
      ReducerOptions options = plain_options("topk", 0.1);
      options.non_finite = choice;
      Reducer reducer(group, options);
      const auto embed = reducer.add_parameter("embed", {10, 2});
      const Rows own = group.rank() == 1 ? Rows{{2, 4}, {nan, infinity, 6, 8}} : Rows{{2}, {2, 4}};
      Mean mean;
      const std::string text = text_of([&] { mean = mean_of(reducer, embed, own); });
      if (choice == OnNonFinite::kStop) {
        EXPECT_THAT(text, HasSubstr("step 0: the gradient of embed on rank 1 has a NaN"));
        return;
      }
      EXPECT_EQ(text, "");
      if (choice == OnNonFinite::kSkip) {
        EXPECT_TRUE(mean.rows.empty());
      }
      if (choice == OnNonFinite::kClip) {
        EXPECT_THAT(mean.values, ElementsAre(1, 6, 3, 4));
      }
      if (choice == OnNonFinite::kPass) {
        EXPECT_THAT(mean.values, ElementsAre(testing::IsNan(), infinity, 3, 4));
      }
    }));
  }
}

}  // namespace
}  // namespace tandem::training::test
