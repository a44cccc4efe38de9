// SPDX-License-Identifier: Apache-2.0
//
// The division of tables and updates over compute units: every gradient once, in order; what is
// packed comes back.
#include "xrt/tables/table_plan.h"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>
#include <random>

#include "common/error.h"

namespace tandem::device::xrt_card {
namespace {

namespace abi = embedding_update;

constexpr std::size_t kRoom = 1 << 20;

std::vector<float> counted(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

struct Sample {
  std::vector<std::uint32_t> rows;
  std::vector<float> gradients;
  TableUpdate update;

  Sample(std::vector<std::uint32_t> given, std::uint32_t width)
      : rows(std::move(given)), gradients(counted(rows.size() * width)) {
    update.rows = rows;
    update.gradients = gradients;
    update.factors.rate = 0.25f;
  }
};

PlacedTable place(TableRule rule, std::uint32_t width, std::uint64_t rows, std::size_t units) {
  const TableShape shape = {rule, width, rows};
  return place_tables({&shape, 1}, units).tables[0];
}

TEST(TablePlan, UnitsHaveRangesOfEveryTableOneAfterAnother) {
  const TableShape shapes[] = {
      {TableRule::kRowwiseAdagrad, 20, 10}, {TableRule::kRowAdam, 16, 3}, {TableRule::kSgd, 16, 4}};
  const TableLayout layout = place_tables(shapes, 4);
  EXPECT_EQ(layout.tables[0].share, 3u);
  EXPECT_EQ(layout.tables[0].rows_of(3), 1u);
  EXPECT_EQ(layout.tables[1].rows_of(3), 0u);
  EXPECT_EQ(layout.tables[1].first_word, 3u * 3);
  EXPECT_EQ(layout.tables[2].first_word, 3u * 3 + 3);
  EXPECT_EQ(layout.unit_bytes, (3u * 3 + 3 + 1) * abi::kWordBytes);
}

TEST(TablePlan, WhatAKernelCannotAddressIsRefusedWithTheBytes) {
  const auto text_of = [](const TableShape& shape) -> std::string {
    try {
      place_tables({&shape, 1}, 1);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(text_of({TableRule::kSgd, 4096, 1000}), "");
  EXPECT_THAT(text_of({TableRule::kSgd, 4097, 1000}), testing::HasSubstr("4097"));
  EXPECT_THAT(text_of({TableRule::kSgd, 16, (1ull << 32) + 1}), testing::HasSubstr("2^32"));
  EXPECT_THAT(text_of({TableRule::kSgd, 16, 1ull << 31}),
              testing::HasSubstr(std::to_string((1ull << 31) * 64)));
}

// Gradients reach the unit of their row, equal rows together, in the order of the list.
TEST(TablePlan, EveryGradientIsSentOnceInOrder) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> rows(500);
  for (std::uint32_t& row : rows) row = random() % 97;
  const Sample sample(rows, 20);
  const PlacedTable table = place(TableRule::kSgd, 20, 97, 3);
  for (const std::size_t room : {kRoom, std::size_t{4000}}) {
    const TablePlan plan = plan_update(sample.update, table, 3, room);
    EXPECT_EQ(plan.rounds.size() > 1, room < kRoom);
    std::vector<std::vector<float>> seen(97);
    for (const auto& calls : plan.rounds) {
      for (const TableCall& call : calls) {
        EXPECT_LE(call.input_bytes, room);
        EXPECT_LE(call.result_bytes, room);
        std::vector<std::byte> input(call.input_bytes);
        write_input(call, plan, sample.update, table, input);
        const auto* words = reinterpret_cast<const std::uint32_t*>(input.data());
        const abi::InputHeader& h = call.header;
        ASSERT_EQ(std::memcmp(words, &h, sizeof(h)), 0);
        const float* gradient = reinterpret_cast<const float*>(words) + h.gradients_word * 16;
        for (std::uint32_t i = 0; i < h.num_entries; ++i) {
          const std::uint32_t* entry = words + h.rows_word * 16 + 2 * i;
          ASSERT_LT(entry[0], h.num_table_rows);
          for (std::uint32_t k = 0; k < entry[1]; ++k, gradient += 32) {
            seen[table.first_row(call.unit) + entry[0]].push_back(gradient[0]);
            EXPECT_EQ(gradient[19], gradient[0] + 19);
            EXPECT_EQ(gradient[20], 0) << "values after the row's are 0";
          }
        }
      }
    }
    std::vector<std::vector<float>> expected(97);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      expected[rows[i]].push_back(sample.gradients[i * 20]);
    }
    EXPECT_EQ(seen, expected);
  }
}

TEST(TablePlan, RecordsComeBackToTheirRows) {
  for (const TableRule rule : {TableRule::kSgd, TableRule::kRowwiseAdagrad, TableRule::kRowAdam}) {
    const TableShape shape = {rule, 20, 10};
    const TableLayout layout = place_tables({&shape, 1}, 3);
    std::vector<float> weights = counted(200), first = counted(200), second = counted(200);
    for (float& value : first) value += 1000;
    for (float& value : second) value += 2000;
    const TableArrays from = {weights, first, second};
    std::vector<float> weights_back(200), first_back(200), second_back(200);
    const TableArrays to = {weights_back, first_back, second_back};
    const Sample sample({9, 2, 2, 5, 4}, 20);
    const TablePlan plan = plan_update(sample.update, layout.tables[0], 3, kRoom);
    EXPECT_EQ(plan.num_rows, 4u);
    for (const TableCall& call : plan.rounds.at(0)) {
      std::vector<std::byte> memory(layout.unit_bytes), records;
      pack_tables(layout, {&from, 1}, call.unit, memory);
      for (const std::uint32_t row : {2u, 4u, 5u, 9u}) {
        const PlacedTable& table = layout.tables[0];
        if (row / table.share != call.unit) continue;
        const std::size_t bytes = table.record * std::size_t{abi::kWordBytes};
        const auto* begin = memory.data() + (row - table.first_row(call.unit)) * bytes;
        records.insert(records.end(), begin, begin + bytes);
      }
      EXPECT_EQ(call.result_bytes, abi::kWordBytes + records.size());
      read_records(call, plan, sample.update, layout.tables[0], records.data(), to);
    }
    for (std::size_t i = 0; i < 200; ++i) {
      const std::size_t row = i / 20;
      const bool touched = row == 2 || row == 4 || row == 5 || row == 9;
      EXPECT_EQ(weights_back[i], touched ? weights[i] : 0);
      const bool adam = rule == TableRule::kRowAdam;
      EXPECT_EQ(second_back[i], touched && adam ? second[i] : 0);
      if (adam) {
        EXPECT_EQ(first_back[i], touched ? first[i] : 0);
      }
    }
    if (rule == TableRule::kRowwiseAdagrad) {
      EXPECT_EQ(first_back[5], first[5]);
      EXPECT_EQ(first_back[3], 0);
    }
  }
}

TEST(TablePlan, BadRowsAreNamed) {
  const PlacedTable table = place(TableRule::kSgd, 16, 10, 2);
  EXPECT_THAT(
      [&] {
        plan_update(Sample({3, 10}, 16).update, table, 2, kRoom);
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("row 10")));
  EXPECT_THAT(
      [&] {
        plan_update(Sample({7, 7, 7, 7}, 16).update, table, 2, 300);
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("row 7 has 4 gradients")));
  EXPECT_TRUE(plan_update(Sample({}, 16).update, table, 2, kRoom).rounds.empty());
}

}  // namespace
}  // namespace tandem::device::xrt_card
