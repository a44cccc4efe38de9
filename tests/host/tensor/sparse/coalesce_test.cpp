// SPDX-License-Identifier: Apache-2.0
//
// From user memory to sparse vectors and back, against a map that is filled entry by entry.
#include "tensor/sparse/coalesce.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "host/tensor/sparse/patterns.h"

namespace tandem::sparse {
namespace {

constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kU64};

double to_double(DType type, const std::byte* value) {
  std::uint16_t half;
  float single;
  double full;
  std::memcpy(&half, value, 2);
  if (type == DType::kF16) return f16_to_f32(half);
  if (type == DType::kBF16) return bf16_to_f32(half);
  if (type == DType::kF32) return std::memcpy(&single, value, 4), single;
  return std::memcpy(&full, value, 8), full;
}

// Rows of small integers in any type.
std::vector<std::byte> make_values(DType type, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(count * dtype_block_bytes(type));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t value = 1 + random() % 50;
    const auto single = static_cast<float>(value);
    const auto full = static_cast<double>(value);
    const std::uint16_t half = type == DType::kF16 ? f32_to_f16(single) : f32_to_bf16(single);
    const std::size_t size = dtype_block_bytes(type);
    const void* from = type == DType::kU64   ? static_cast<const void*>(&value)
                       : type == DType::kF64 ? static_cast<const void*>(&full)
                       : type == DType::kF32 ? static_cast<const void*>(&single)
                                             : static_cast<const void*>(&half);
    std::memcpy(bytes.data() + i * size, from, size);
  }
  return bytes;
}

template <typename U>
void expect_coalesced(Domain domain, DType type, const std::vector<U>& indices,
                      Reduction reduction) {
  const auto values = make_values(type, indices.size() * domain.width, indices.size());
  const SparseVector vector = coalesce(
      {domain, type, sizeof(U) == 8, indices.size(), indices.data(), values.data()}, reduction);
  std::map<std::uint64_t, std::vector<double>> expected;
  for (std::size_t entry = 0; entry < indices.size(); ++entry) {
    auto& row = expected[indices[entry]];
    const bool first = row.empty();
    row.resize(domain.width);
    for (std::size_t i = 0; i < domain.width; ++i) {
      const std::byte* at = values.data() + (entry * domain.width + i) * dtype_block_bytes(type);
      std::uint64_t whole;
      std::memcpy(&whole, at, std::min<std::size_t>(8, dtype_block_bytes(type)));
      const double value = type == DType::kU64 ? static_cast<double>(whole) : to_double(type, at);
      row[i] = first                          ? value
               : reduction == Reduction::kMax ? std::max(row[i], value)
                                              : row[i] + value;
    }
  }
  ASSERT_EQ(vector.num_entries(), expected.size());
  std::size_t entry = 0;
  for (const auto& unit : expected) {
    const auto& row = unit.second;  // lambdas of C++20 capture no binding in clang 14
    EXPECT_EQ(vector.index_at(entry), unit.first);
    for (std::size_t i = 0; i < domain.width; ++i) {
      visit_type(vector.type(), [&](auto zero) {
        const auto got = vector.values<decltype(zero)>()[entry * domain.width + i];
        EXPECT_EQ(static_cast<double>(got), row[i]);
      });
    }
    ++entry;
  }
}

TEST(Coalesce, ReducesUnsortedAndRepeatedEntriesOfEveryType) {
  std::mt19937_64 random(1);
  for (const DType type : kTypes) {
    for (const std::uint32_t width : {1u, 3u}) {
      for (const std::size_t count : {0, 1, 63, 1000}) {
        for (const std::uint64_t num_units : {std::uint64_t{400}, std::uint64_t{70'000}}) {
          std::vector<std::uint32_t> indices(count);
          for (auto& index : indices) index = static_cast<std::uint32_t>(random() % num_units);
          expect_coalesced(Domain{num_units, width}, type, indices, Reduction::kSum);
          const std::vector<std::uint64_t> wide(indices.begin(), indices.end());
          expect_coalesced(Domain{num_units, width}, type, wide, Reduction::kMax);
          expect_coalesced(Domain{test::kWideUnits, width}, type, indices, Reduction::kSum);
        }
        std::vector<std::uint64_t> far(count);
        for (auto& index : far)
          index = test::kWideUnits - 1 - random() % 500 * (std::uint64_t{1} << 23);
        expect_coalesced(Domain{test::kWideUnits, width}, type, far, Reduction::kSum);
      }
    }
  }
}

TEST(Coalesce, TakesSortedEntriesAsTheyAre) {
  std::vector<std::uint32_t> indices(5000);
  std::iota(indices.begin(), indices.end(), 17u);
  for (const DType type : kTypes) {
    expect_coalesced(Domain{6000, 2}, type, indices, Reduction::kSum);
  }
}

TEST(Coalesce, AddsInTheOrderGiven) {
  // 1e8 + 1 - 1e8 is 0 in f32 in this order, 1 in another.
  const std::vector<std::uint32_t> indices = {9, 4, 9, 4, 9, 4};
  const std::vector<float> values = {1e8f, 1e8f, 1.0f, -1e8f, -1e8f, 1.0f};
  const SparseVector vector =
      coalesce({{10, 1}, DType::kF32, false, 6, indices.data(), values.data()}, Reduction::kSum);
  ASSERT_EQ(vector.num_entries(), 2u);
  EXPECT_EQ(vector.values<float>()[0], 1.0f);
  EXPECT_EQ(vector.values<float>()[1], 0.0f);
}

std::string error_of(const CoalesceInput& input) {
  try {
    coalesce(input, Reduction::kSum);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Coalesce, NamesTheEntryThatIsOutOfRange) {
  const std::vector<std::uint32_t> narrow = {3, 9, 10, 4};
  const std::vector<std::uint64_t> wide = {3, std::uint64_t{1} << 40, 4, 4};
  const std::vector<float> values(4, 1.0f);
  EXPECT_NE(error_of({{10, 1}, DType::kF32, false, 4, narrow.data(), values.data()})
                .find("entry 2 has index 10"),
            std::string::npos);
  EXPECT_NE(error_of({{10, 1}, DType::kF32, true, 4, wide.data(), values.data()})
                .find("entry 1 has index 1099511627776"),
            std::string::npos);
}

TEST(Coalesce, HoldsTheCallerToThePromiseOfOrder) {
  const std::vector<float> values(3, 1.0f);
  for (const auto& indices : {std::vector<std::uint32_t>{1, 5, 5}, {1, 5, 4}}) {
    EXPECT_NE(error_of({{10, 1}, DType::kF32, false, 3, indices.data(), values.data(), true})
                  .find("entry 2"),
              std::string::npos);
  }
}

TEST(Coalesce, RefusesTypesThatCannotBeReduced) {
  const std::uint32_t index = 0;
  EXPECT_THROW(coalesce({{10, 1}, DType::kI8, false, 1, &index, &index}, Reduction::kSum), Error);
}

TEST(Extract, TakesEveryUnitThatHoldsAValue) {
  for (const DType type : kTypes) {
    for (const std::uint32_t width : {1u, 3u, 5000u}) {
      for (const std::uint64_t num_units :
           {std::uint64_t{1}, std::uint64_t{63}, width == 1 ? std::uint64_t{50'003} : 700}) {
        for (const int percent : {0, 1, 50, 100}) {
          if (width == 5000 && num_units > 100) continue;
          std::mt19937_64 random(num_units + width);
          const std::size_t row_bytes = width * dtype_block_bytes(type);
          std::vector<std::byte> dense(num_units * row_bytes);
          const auto values = make_values(type, num_units, 5);
          std::vector<std::uint64_t> expected;
          for (std::uint64_t unit = 0; unit < num_units; ++unit) {
            if (static_cast<int>(random() % 100) >= percent) continue;
            expected.push_back(unit);
            // One value somewhere in the row.
            std::memcpy(
                dense.data() + unit * row_bytes + random() % width * dtype_block_bytes(type),
                values.data() + unit * dtype_block_bytes(type), dtype_block_bytes(type));
          }
          const SparseVector vector = extract(dense.data(), {num_units, width}, type);
          ASSERT_EQ(vector.num_entries(), expected.size());
          for (std::size_t at = 0; at < expected.size(); ++at) {
            ASSERT_EQ(vector.index_at(at), expected[at]);
          }
          std::vector<std::byte> back(dense.size(), std::byte{0x55});
          scatter(vector, type, back.data());
          EXPECT_EQ(back, dense);
        }
      }
    }
  }
}

TEST(Extract, CountsNanAsAValueAndNegativeZeroAsNone) {
  std::vector<float> dense(100, -0.0f);
  dense[40] = std::numeric_limits<float>::quiet_NaN();
  dense[41] = std::numeric_limits<float>::denorm_min();
  const SparseVector vector = extract(dense.data(), {100, 1}, DType::kF32);
  ASSERT_EQ(vector.num_entries(), 2u);
  EXPECT_EQ(vector.index_at(0), 40u);
  EXPECT_EQ(vector.index_at(1), 41u);
}

TEST(Export, GivesBackIndicesAndValuesOfEveryType) {
  for (const DType type : kTypes) {
    const SparseVector vector =
        test::vector_of({500, 2}, accumulation_type(type), {0, 7, 130, 499});
    std::vector<std::uint64_t> wide(4);
    std::vector<std::uint32_t> narrow(4);
    export_indices(vector, true, wide.data());
    export_indices(vector, false, narrow.data());
    EXPECT_EQ(wide, (std::vector<std::uint64_t>{0, 7, 130, 499}));
    EXPECT_EQ(narrow, (std::vector<std::uint32_t>{0, 7, 130, 499}));
    std::vector<std::byte> values(8 * dtype_block_bytes(type));
    export_values(vector, type, values.data());
    const SparseVector back =
        coalesce({{500, 2}, type, false, 4, narrow.data(), values.data()}, Reduction::kSum);
    EXPECT_TRUE(test::same(vector, back));
  }
  const SparseVector far =
      test::vector_of({test::kWideUnits, 1}, DType::kF32, {test::kWideUnits - 1});
  std::uint64_t index = 0;
  export_indices(far, true, &index);
  EXPECT_EQ(index, test::kWideUnits - 1);
  EXPECT_THROW(export_indices(far, false, &index), Error);
}

TEST(Scatter, TurnsTheIdentityOfADenseMaximumIntoZero) {
  DenseVector dense({4, 2}, DType::kF32, Reduction::kMax);
  dense.values<float>()[2] = -3;
  std::vector<float> out(8, 9.0f);
  scatter(dense, Reduction::kMax, DType::kF32, out.data());
  const float least = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(out, (std::vector<float>{0, 0, -3, least, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace tandem::sparse
