// SPDX-License-Identifier: Apache-2.0
//
// Both ways of merging, and the dense kernels, bit for bit against a map that is filled part by
// part.
#include "tensor/sparse/merge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "host/tensor/sparse/patterns.h"
#include "tensor/sparse/merge_windows.h"

namespace tandem::sparse {
namespace {

SparseVector naive_merge(const std::vector<SparseVector>& parts, Reduction reduction) {
  SparseVector out(parts.front().domain(), parts.front().type());
  const std::size_t width = out.domain().width;
  visit_types(out, [&](auto index, auto value) {
    using I = decltype(index);
    using T = decltype(value);
    std::map<I, std::vector<T>> sums;
    for (const SparseVector& part : parts) {
      for (std::size_t entry = 0; entry < part.num_entries(); ++entry) {
        const auto row = part.values<T>().subspan(entry * width, width);
        auto& sum = sums[part.indices<I>()[entry]];
        if (sum.empty()) {
          sum.assign(row.begin(), row.end());
          continue;
        }
        for (std::size_t i = 0; i < width; ++i) sum[i] = reduce_values(reduction, sum[i], row[i]);
      }
    }
    out.resize(sums.size());
    std::size_t at = 0;
    for (const auto& [unit, row] : sums) {
      out.indices<I>()[at] = unit;
      std::ranges::copy(row, out.values<T>().begin() + static_cast<std::ptrdiff_t>(at++ * width));
    }
  });
  return out;
}

// Uniform, with full-precision values, so that another order of additions would show.
SparseVector random_vector(Domain domain, DType type, std::size_t count, std::uint64_t seed,
                           test::Pattern pattern = test::Pattern::kUniform) {
  SparseVector vector =
      test::vector_of(domain, type, test::pattern_units(pattern, domain.num_units, count, seed));
  std::mt19937_64 random(seed);
  visit_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (T& value : vector.values<T>()) {
      if constexpr (std::is_integral_v<T>) {
        value = random();
      } else {
        value = static_cast<T>(std::ldexp(static_cast<double>(random() % (1 << 24)) - (1 << 23),
                                          static_cast<int>(random() % 40) - 20));
      }
    }
  });
  return vector;
}

void expect_merged(const std::vector<SparseVector>& parts, Reduction reduction) {
  const SparseVector expected = naive_merge(parts, reduction);
  EXPECT_TRUE(test::same(expected, merge(parts, reduction)));
  EXPECT_TRUE(test::same(expected, merge_by_keys(parts, reduction)));
  if (parts.size() == 2 && parts.front().domain().width == 1) {
    EXPECT_TRUE(test::same(expected, merge_two(parts[0], parts[1], reduction)));
  }
  if (parts.front().domain().width == 1) {
    EXPECT_TRUE(test::same(expected, merge_by_windows(parts, reduction)))
        << parts.size() << " parts of " << parts.front().num_entries() << " in "
        << parts.front().domain().num_units << ", " << dtype_name(parts.front().type());
  }
}

TEST(Merge, AddsInTheOrderOfThePartsForEveryTypeWidthAndDensity) {
  std::uint64_t seed = 0;
  for (const DType type : {DType::kF32, DType::kF64, DType::kU64}) {
    for (const std::size_t num_parts : {1, 2, 3, 8, 17}) {
      for (const auto& [num_units, count] : {std::pair<std::uint64_t, std::size_t>{1, 1},
                                             {64, 40},
                                             {1000, 900},
                                             {70'000, 4000},
                                             {200'000, 30},
                                             {100'000, 0},
                                             {test::kWideUnits, 500}}) {
        for (const std::uint32_t width : {1u, 3u}) {
          std::vector<SparseVector> parts;
          for (std::size_t part = 0; part < num_parts; ++part) {
            parts.push_back(
                random_vector({num_units, width}, type, count / (1 + part % 3), ++seed));
          }
          expect_merged(parts, Reduction::kSum);
          expect_merged(parts, Reduction::kMax);
        }
      }
    }
  }
}

TEST(Merge, AgreesOnEveryPattern) {
  for (const auto pattern : test::kPatterns) {
    for (const std::uint64_t num_units : {std::uint64_t{70'000}, std::uint64_t{1} << 32}) {
      std::vector<SparseVector> parts;
      for (std::uint64_t part = 0; part < 5; ++part) {
        if (pattern == test::Pattern::kAll && num_units > 100'000) break;
        parts.push_back(random_vector({num_units, 1}, DType::kF32, 10'007, part, pattern));
      }
      if (!parts.empty()) expect_merged(parts, Reduction::kSum);
    }
  }
}

TEST(Merge, KeepsTheSignOfZeroTheLastUnitAndNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float least = -std::numeric_limits<float>::infinity();
  const std::uint64_t last = (std::uint64_t{1} << 32) - 1;
  std::vector<SparseVector> parts;
  for (int part = 0; part < 3; ++part) {
    parts.push_back(test::vector_of({last + 1, 1}, DType::kF32, {0, 5, 9, last}));
    parts.back().values<float>()[0] = -0.0f;
    parts.back().values<float>()[1] = part == 1 ? nan : 3.0f;
    parts.back().values<float>()[2] = least;
  }
  for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
    expect_merged(parts, reduction);
    const SparseVector sum = merge_by_windows(parts, reduction);
    EXPECT_TRUE(std::signbit(sum.values<float>()[0]));
    EXPECT_TRUE(std::isnan(sum.values<float>()[1]));
    EXPECT_EQ(sum.values<float>()[2], least);
    EXPECT_EQ(sum.index_at(3), last);
    expect_merged({parts[0], parts[1]}, reduction);
  }
}

TEST(ReduceInto, AddsToTheDenseVectorAndCompactFindsWhatDiffersFromTheIdentity) {
  for (const DType type : {DType::kF32, DType::kF64, DType::kU64}) {
    for (const std::uint32_t width : {1u, 3u}) {
      for (const std::uint64_t num_units : {1, 63, 64, 1000, 10'007}) {
        for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
          std::vector<SparseVector> parts;
          DenseVector dense({num_units, width}, type, reduction);
          for (std::uint64_t part = 0; part < 3; ++part) {
            parts.push_back(test::vector_of(
                {num_units, width}, type,
                test::pattern_units(test::Pattern::kUniform, num_units, num_units / 3 + 1, part)));
            reduce_into(dense, parts.back(), reduction);
          }
          EXPECT_TRUE(test::same(naive_merge(parts, reduction), compact(dense, reduction)));
        }
      }
    }
  }
}

TEST(Compact, KeepsNanAndDropsBothZeroes) {
  DenseVector dense({100, 1}, DType::kF32, Reduction::kSum);
  dense.values<float>()[7] = -0.0f;
  dense.values<float>()[70] = std::numeric_limits<float>::quiet_NaN();
  const SparseVector vector = compact(dense, Reduction::kSum);
  ASSERT_EQ(vector.num_entries(), 1u);
  EXPECT_EQ(vector.index_at(0), 70u);
}

TEST(RoundToWire, IsWhatAPeerReceives) {
  SparseVector vector = random_vector({5000, 1}, DType::kF32, 1000, 3);
  for (const DType wire : {DType::kF16, DType::kBF16}) {
    SparseVector rounded = vector;
    round_to_wire(rounded, wire);
    for (std::size_t at = 0; at < vector.num_entries(); ++at) {
      const float value = vector.values<float>()[at];
      EXPECT_EQ(rounded.values<float>()[at], wire == DType::kF16 ? f16_to_f32(f32_to_f16(value))
                                                                 : bf16_to_f32(f32_to_bf16(value)));
    }
  }
  round_to_wire(vector, DType::kF32);
}

}  // namespace
}  // namespace tandem::sparse
