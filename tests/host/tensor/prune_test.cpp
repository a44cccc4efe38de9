// SPDX-License-Identifier: Apache-2.0
//
// Pruning by magnitude: exact counts, the lowest scores, patterns, and what contradicts itself.
#include "tensor/prune.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "common/error.h"

namespace tandem {
namespace {

struct Grid {
  std::int64_t rows, columns;
  std::vector<float> values;
  TensorView view(const char* name = "m") const {
    return {name, DType::kF32, rows, columns, reinterpret_cast<const std::byte*>(values.data())};
  }
};

Grid random_grid(std::int64_t rows, std::int64_t columns, unsigned seed, bool rounded = false) {
  Grid grid{rows, columns, std::vector<float>(static_cast<std::size_t>(rows * columns))};
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (float& value : grid.values) {
    value = normal(random);
    if (rounded) value = std::round(value * 4.0f + 0.5f) - 0.25f;  // many equal, none zero
  }
  return grid;
}

std::vector<float> pruned(Pruner& pruner, const Grid& grid, ThreadPool& pool) {
  std::vector<float> result(grid.values.size());
  pruner.prune(grid.view(), DType::kF32, reinterpret_cast<std::byte*>(result.data()), pool);
  return result;
}

std::vector<float> pruned(const PruneOptions& options, const Grid& grid, int threads = 2) {
  ThreadPool pool(threads);
  const TensorView view = grid.view();
  Pruner pruner(options, {&view, 1}, pool);
  return pruned(pruner, grid, pool);
}

std::ptrdiff_t count_zeros(std::span<const float> values) {
  return std::count(values.begin(), values.end(), 0.0f);
}

// Every value is as it was or zero, and no value that stays is smaller than one that went.
void expect_lowest_went(std::span<const float> before, std::span<const float> after) {
  float largest_gone = 0, smallest_left = std::numeric_limits<float>::max();
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (after[i] == 0.0f) {
      largest_gone = std::max(largest_gone, std::fabs(before[i]));
    } else {
      ASSERT_EQ(after[i], before[i]);
      smallest_left = std::min(smallest_left, std::fabs(before[i]));
    }
  }
  EXPECT_LE(largest_gone, smallest_left);
}

TEST(Prune, OfEveryRowExactlyTheLowestGo) {
  for (const bool rounded : {false, true}) {
    const Grid grid = random_grid(33, 130, 1, rounded);
    const auto after = pruned({.fraction = 0.9}, grid);
    for (std::size_t row = 0; row < 33; ++row) {
      const auto before = std::span(grid.values).subspan(row * 130, 130);
      EXPECT_EQ(count_zeros(std::span(after).subspan(row * 130, 130)), 117);
      expect_lowest_went(before, std::span(after).subspan(row * 130, 130));
    }
  }
}

TEST(Prune, OfAllMatricesTogetherExactlyTheLowestGo) {
  for (const bool rounded : {false, true}) {
    Grid small = random_grid(20, 64, 2, rounded), large = random_grid(31, 64, 3, rounded);
    for (float& value : large.values) value *= 2.0f;
    const std::vector<TensorView> views = {small.view(), large.view()};
    ThreadPool pool(3);
    Pruner pruner({.fraction = 0.7, .scope = PruneScope::kGlobal}, views, pool);
    auto after = pruned(pruner, small, pool);
    const auto of_small = count_zeros(after);
    const auto more = pruned(pruner, large, pool);
    EXPECT_GT(static_cast<double>(of_small) / 20, static_cast<double>(count_zeros(more)) / 31);
    after.insert(after.end(), more.begin(), more.end());
    std::vector<float> before = small.values;
    before.insert(before.end(), large.values.begin(), large.values.end());
    EXPECT_EQ(count_zeros(after), std::llround(0.7 * 51 * 64));
    expect_lowest_went(before, after);
    EXPECT_EQ(pruner.values(), 51u * 64);
    EXPECT_EQ(pruner.zeros(), static_cast<std::uint64_t>(count_zeros(after)));
  }
}

TEST(Prune, OfNOfMKeepsTheLargestOfEveryGroup) {
  const Grid grid = random_grid(9, 64, 4);
  for (const auto& [word, keep, group] : {std::tuple("2:4", 2u, 4u), std::tuple("1:8", 1u, 8u)}) {
    const double fraction = 1.0 - static_cast<double>(keep) / group;
    const auto after = pruned({.fraction = fraction, .pattern = parse_prune_pattern(word)}, grid);
    for (std::size_t at = 0; at < after.size(); at += group) {
      EXPECT_EQ(count_zeros(std::span(after).subspan(at, group)), group - keep);
      expect_lowest_went(std::span(grid.values).subspan(at, group),
                         std::span(after).subspan(at, group));
    }
  }
}

TEST(Prune, BlocksGoWholeAndThoseOfTheLeastSum) {
  const Grid grid = random_grid(20, 44, 5);  // the last blocks are 4 rows high and 4 columns wide
  for (const PruneScope scope : {PruneScope::kRow, PruneScope::kGlobal}) {
    const auto after =
        pruned({.fraction = 0.5, .scope = scope, .pattern = parse_prune_pattern("8x8")}, grid);
    std::vector<float> sums, left;
    for (std::size_t top = 0; top < 20; top += 8) {
      for (std::size_t begin = 0; begin < 44; begin += 8) {
        float sum = 0, kept = 0;
        std::size_t zeros = 0, values = 0;
        for (std::size_t row = top; row < std::min<std::size_t>(top + 8, 20); ++row) {
          for (std::size_t i = begin; i < std::min<std::size_t>(begin + 8, 44); ++i, ++values) {
            sum += std::fabs(grid.values[row * 44 + i]);
            kept += std::fabs(after[row * 44 + i]);
            zeros += after[row * 44 + i] == 0.0f ? 1 : 0;
          }
        }
        EXPECT_TRUE(zeros == 0 || zeros == values) << top << " " << begin;
        sums.push_back(sum);
        left.push_back(kept);
      }
      if (scope == PruneScope::kGlobal) continue;
      EXPECT_EQ(count_zeros(left), 3);
      expect_lowest_went(sums, left);
      sums.clear();
      left.clear();
    }
    if (scope == PruneScope::kRow) continue;
    EXPECT_EQ(count_zeros(left), 9);
    expect_lowest_went(sums, left);
  }
}

TEST(Prune, DoesNotDependOnTheNumberOfThreads) {
  const Grid grid = random_grid(77, 96, 6, true);
  for (const PruneScope scope : {PruneScope::kRow, PruneScope::kGlobal}) {
    const PruneOptions options{.fraction = 0.4, .scope = scope};
    EXPECT_EQ(pruned(options, grid, 1), pruned(options, grid, 5));
  }
}

TEST(Prune, NamesTheRowOfAValueThatIsNotFinite) {
  Grid grid = random_grid(3, 64, 7);
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    grid.values[2 * 64 + 3] = value;
    for (const PruneScope scope : {PruneScope::kRow, PruneScope::kGlobal}) {
      try {
        pruned({.fraction = 0.5, .scope = scope}, grid);
        FAIL() << "no error";
      } catch (const Error& error) {
        EXPECT_THAT(error.what(),
                    testing::HasSubstr("'m', rows from 2: holds a value that is not"));
      }
    }
  }
}

TEST(Prune, WritesRoundedValues) {
  const Grid grid = random_grid(4, 64, 8);
  ThreadPool pool(1);
  const TensorView view = grid.view();
  for (const DType type : {DType::kF16, DType::kBF16}) {
    Pruner pruner({.fraction = 0.75}, {&view, 1}, pool);
    std::vector<std::byte> bytes(4 * 64 * 2);
    pruner.prune(view, type, bytes.data(), pool);
    std::vector<float> back(4 * 64);
    dequantize_row(type, bytes.data(), back.data(), back.size());
    EXPECT_EQ(count_zeros(back), 4 * 48);
    for (std::size_t i = 0; i < back.size(); ++i) {
      if (back[i] != 0.0f) {
        EXPECT_NEAR(back[i], grid.values[i], std::fabs(grid.values[i]) * 0.004f);
      }
    }
  }
}

TEST(Prune, CountsTheZerosThatRoundingMakes) {
  Grid grid = random_grid(1, 64, 8);
  for (std::size_t i = 0; i < 64; ++i) grid.values[i] = i % 4 == 0 ? 1e-12f : 1.0f;
  ThreadPool pool(1);
  const TensorView view = grid.view();
  for (const auto& [type, zeros] : {std::pair(DType::kF16, 16u), std::pair(DType::kBF16, 8u)}) {
    Pruner pruner({.fraction = 0.125}, {&view, 1}, pool);
    std::vector<std::byte> bytes(64 * 2);
    pruner.prune(view, type, bytes.data(), pool);
    EXPECT_EQ(pruner.zeros(), zeros) << dtype_name(type);
  }
}

TEST(Prune, RefusesWhatContradictsItself) {
  const Grid grid = random_grid(4, 66, 9);
  for (const double fraction : {0.0, 1.0, -0.5, std::nan("")}) {
    EXPECT_THAT([&] { pruned({.fraction = fraction}, grid); },
                testing::ThrowsMessage<Error>(testing::HasSubstr(
                    "the fraction " + std::to_string(fraction) + " is not above 0 and below 1")));
  }
  EXPECT_THROW(pruned({.fraction = 0.9, .pattern = parse_prune_pattern("2:4")}, grid), Error);
  EXPECT_THROW(pruned({.fraction = 0.5, .pattern = parse_prune_pattern("2:4")}, grid), Error)
      << "66 values do not divide into groups of 4";
  EXPECT_THROW(
      pruned({.fraction = 0.5, .scope = PruneScope::kGlobal, .pattern = parse_prune_pattern("3:6")},
             grid),
      Error);
  for (const char* word : {"", "4", "4:2", "2:2", "0x8", "8x", "x8", "2:4:8", "-1:4", "9999x8"}) {
    EXPECT_THROW(parse_prune_pattern(word), Error) << word;
  }
}

}  // namespace
}  // namespace tandem
