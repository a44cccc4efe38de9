// SPDX-License-Identifier: Apache-2.0
//
// Tensors, their order and their sums against std::map and std::stable_sort.
#include "tensor/sparse/formats/entry_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "../random_tensor.h"
#include "common/error.h"
#include "tensor/sparse/formats/coordinate_keys.h"
#include "tensor/sparse/formats/curve.h"
#include "tensor/sparse/formats/radix_sort.h"

namespace tandem::sparse {
namespace {

using test::entries_of;
using test::Index;
using test::index_of_entry;
using test::random_tensor;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::uint64_t kBeyond32 = (std::uint64_t{1} << 32) + 5;

TEST(IndexColumn, BecomesWideWhenALargeIndexArrives) {
  IndexColumn column;
  column.resize(2, 7);
  column.set(0, 7);
  column.set(1, 3);
  EXPECT_FALSE(column.wide());
  EXPECT_EQ(column.size_bytes(), 8u);
  column.resize(2, 0xffffffffu);
  EXPECT_FALSE(column.wide()) << "2^32 - 1 fits 32 bits";
  column.resize(3, kBeyond32);
  column.set(2, kBeyond32);
  EXPECT_TRUE(column.wide());
  EXPECT_EQ(column.size_bytes(), 24u);
  EXPECT_EQ(column[0], 7u);
  EXPECT_EQ(column[1], 3u);
  EXPECT_EQ(column[2], kBeyond32);
}

TEST(IndexColumn, EqualsOneOfTheOtherWidthWithTheSameIndices) {
  IndexColumn narrow, wide;
  narrow.resize(1, 4);
  wide.resize(1, kBeyond32);
  narrow.set(0, 4);
  wide.set(0, 4);
  EXPECT_EQ(narrow, wide);
  wide.set(0, 5);
  EXPECT_FALSE(narrow == wide);
  wide.resize(2, 0);
  wide.set(0, 4);
  EXPECT_FALSE(narrow == wide);
}

TEST(CooTensor, RefusesOrdersAndSizesThatAreNone) {
  EXPECT_THAT([] { CooTensor(Index{}); }, ThrowsMessage<Error>(HasSubstr("1 to 32 modes, not 0")));
  EXPECT_THROW(CooTensor(Index(33, 2)), Error);
  EXPECT_NO_THROW(CooTensor(Index(32, 2)));
  EXPECT_THAT([] { CooTensor({4, 0}); }, ThrowsMessage<Error>(HasSubstr("mode 1 has size 0")));
}

TEST(CooTensor, CountsItsBytesAndCells) {
  const CooTensor tensor = random_tensor({3, kBeyond32}, 10, 1);
  EXPECT_EQ(tensor.size_bytes(), 10u * (4 + 8 + 8));
  EXPECT_EQ(num_cells(tensor.sizes), 3.0 * static_cast<double>(kBeyond32));
  EXPECT_EQ(index_bits(1), 0);
  EXPECT_EQ(index_bits(2), 1);
  EXPECT_EQ(index_bits(1024), 10);
  EXPECT_EQ(index_bits(1025), 11);
}

TEST(CooTensor, ComparesSizesIndicesAndValues) {
  const CooTensor one = random_tensor({3, 4}, 5, 1);
  CooTensor other = one;
  EXPECT_TRUE(one == other);
  other.values[2] += 1;
  EXPECT_FALSE(one == other);
  other = one;
  other.indices[1].set(0, (one.indices[1][0] + 1) % 4);
  EXPECT_FALSE(one == other);
  other = one;
  other.sizes[0] = 9;
  EXPECT_FALSE(one == other);
}

TEST(RadixSort, IsStableForEveryNumberOfThreads) {
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    for (const std::size_t size : {0, 1, 2, 1000, 5000}) {
      for (const int bits : {0, 1, 11, 12, 40, 64}) {
        std::mt19937_64 engine(size + static_cast<std::size_t>(bits));
        RawVector<KeyedPosition> records(size);
        for (std::size_t i = 0; i < size; ++i) {
          const std::uint64_t key = bits == 0 ? 0 : engine() >> (64 - bits);
          records[i] = {i % 3 == 0 ? key : key & ~std::uint64_t{0xffff}, i};
        }
        RawVector<KeyedPosition> expected = records;
        std::stable_sort(expected.begin(), expected.end(),
                         [](const auto& a, const auto& b) { return a.key < b.key; });
        sort_by_key(records, bits, pool);
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_EQ(records[i].key, expected[i].key);
          ASSERT_EQ(records[i].position, expected[i].position);
        }
      }
    }
  }
}

void expect_keys_compare_as_coordinates(const CooTensor& tensor, const Index& modes) {
  ThreadPool pool(2);
  const std::vector<std::size_t> of(modes.begin(), modes.end());
  const CoordinateKeys keys = coordinate_keys(tensor, of, pool);
  const auto coordinates = [&](std::size_t entry) {
    Index index;
    for (const std::size_t mode : of) index.push_back(tensor.indices[mode][entry]);
    return index;
  };
  for (std::size_t a = 0; a < tensor.num_entries(); ++a) {
    ASSERT_TRUE(keys.bits == 64 || keys.keys[a] >> keys.bits == 0);
    for (std::size_t b = 0; b < tensor.num_entries(); ++b) {
      ASSERT_EQ(keys.keys[a] < keys.keys[b], coordinates(a) < coordinates(b));
      ASSERT_EQ(keys.keys[a] == keys.keys[b], coordinates(a) == coordinates(b));
    }
  }
}

TEST(CoordinateKeys, CompareAsTheCoordinatesOfAnyOrderAndSize) {
  const std::uint64_t full = ~std::uint64_t{0};
  expect_keys_compare_as_coordinates(random_tensor({5, 1, 7}, 60, 2), {0, 1, 2});
  expect_keys_compare_as_coordinates(random_tensor({5, 1, 7}, 60, 2), {2, 0});
  expect_keys_compare_as_coordinates(random_tensor({5, 1, 7}, 60, 2), {});
  expect_keys_compare_as_coordinates(random_tensor({full}, 60, 3), {0});
  expect_keys_compare_as_coordinates(random_tensor({full, full}, 60, 4), {1, 0});
  expect_keys_compare_as_coordinates(random_tensor({3, full, 2, full, 3}, 60, 5), {0, 1, 2, 3, 4});
  expect_keys_compare_as_coordinates(random_tensor(Index(12, 3), 60, 6),
                                     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  expect_keys_compare_as_coordinates(random_tensor(Index(12, 1'000'000), 60, 7),
                                     {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

TEST(CoordinateKeys, OfSomePositionsAreThoseOfTheirEntries) {
  ThreadPool pool(2);
  const CooTensor tensor = random_tensor({50, 60, 70}, 40, 8);
  const std::vector<std::size_t> modes{0, 2};
  const std::vector<std::uint64_t> positions{39, 0, 7, 7};
  const CoordinateKeys all = coordinate_keys(tensor, modes, pool);
  const CoordinateKeys some = coordinate_keys_at(tensor, modes, positions, pool);
  ASSERT_EQ(some.keys.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(some.keys[i], all.keys[positions[i]]);
}

TEST(CoordinateKeys, ModesWithoutSomeAreTheOthers) {
  EXPECT_EQ(modes_without(4, std::vector<std::size_t>{1, 3}), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(modes_without(2, {}), (std::vector<std::size_t>{0, 1}));
}

TEST(SumDuplicates, LeavesEachCoordinateOnceInOrderForEveryNumberOfThreads) {
  const std::vector<Index> shapes{
      {1}, {50}, {7, 9}, {5, 1, 6}, {kBeyond32, 3}, Index(12, 2), Index(12, 100'000)};
  for (const Index& sizes : shapes) {
    const CooTensor tensor = random_tensor(sizes, 300, 9);
    const std::map<Index, double> expected = entries_of(tensor);
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads);
      CooTensor summed = tensor;
      sum_duplicates(summed, pool);
      ASSERT_EQ(summed.num_entries(), expected.size());
      std::size_t entry = 0;
      for (const auto& [index, value] : expected) {
        EXPECT_EQ(index_of_entry(summed, entry), index);
        EXPECT_EQ(summed.values[entry++], value) << "bit by bit";
      }
    }
  }
}

TEST(SumDuplicates, AddsInTheOrderOfTheEntriesAndKeepsZeros) {
  ThreadPool pool(2);
  CooTensor tensor(Index{2});
  for (const double value : {1.0, 1e16, -1e16}) tensor.append(Index{1}, value);
  tensor.append(Index{0}, 0.0);
  sum_duplicates(tensor, pool);
  ASSERT_EQ(tensor.num_entries(), 2u);
  EXPECT_EQ(tensor.values[0], 0.0);
  EXPECT_EQ(tensor.values[1], 0.0) << "1 is lost in 1e16 first";
}

TEST(SumDuplicates, TakesATensorWithoutEntries) {
  ThreadPool pool(2);
  CooTensor tensor(Index{4, 5});
  sum_duplicates(tensor, pool);
  EXPECT_EQ(tensor.num_entries(), 0u);
}

TEST(SortEntries, OrdersAlongCurvesAndKeepsDuplicatesInTheirOrder) {
  ThreadPool pool(2);
  const CooTensor tensor = random_tensor({6, 11, 3}, 400, 10);
  for (const CurveKind kind : {CurveKind::kMorton, CurveKind::kHilbert}) {
    CooTensor sorted = tensor;
    sort_entries(sorted, kind == CurveKind::kMorton ? EntryOrder::kMorton : EntryOrder::kHilbert,
                 pool);
    const RawVector<std::uint64_t> keys = curve_keys(sorted, Curve(kind, sorted.sizes), pool);
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
    EXPECT_EQ(sorted.num_entries(), tensor.num_entries());
    EXPECT_EQ(entries_of(sorted), entries_of(tensor)) << "sums are bit by bit those of the order";
  }
  CooTensor sorted = tensor;
  sort_entries(sorted, EntryOrder::kLexicographic, pool);
  for (std::size_t entry = 1; entry < sorted.num_entries(); ++entry) {
    EXPECT_LE(index_of_entry(sorted, entry - 1), index_of_entry(sorted, entry));
  }
}

}  // namespace
}  // namespace tandem::sparse
