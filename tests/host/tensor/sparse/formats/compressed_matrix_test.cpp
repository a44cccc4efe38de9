// SPDX-License-Identifier: Apache-2.0
//
// Rows and columns against a loop over all entries.
#include "tensor/sparse/formats/compressed_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../random_tensor.h"
#include "common/error.h"
#include "tensor/sparse/formats/entry_order.h"

namespace tandem::sparse {
namespace {

using test::Index;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::uint64_t kWideSize = std::uint64_t{1} << 33;

TEST(CompressedMatrix, HoldsEachRowOrColumnInOrder) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    for (const Index& sizes : {Index{1, 1}, Index{8, 5}, Index{3, 200}, Index{200, 3}}) {
      const CooTensor tensor = test::random_tensor(sizes, 90, 12);
      for (const Major major : {Major::kRows, Major::kColumns}) {
        const CompressedMatrix matrix = to_compressed(tensor, major, pool);
        std::map<Index, double> expected;  // by (major, minor)
        for (const auto& [index, value] : test::entries_of(tensor)) {
          expected[major == Major::kRows ? index : Index{index[1], index[0]}] = value;
        }
        ASSERT_EQ(matrix.begins.size(), sizes[major == Major::kRows ? 0 : 1] + 1);
        ASSERT_EQ(matrix.begins.back(), expected.size());
        auto each = expected.begin();
        for (std::uint64_t m = 0; m < matrix.num_majors(); ++m) {
          for (std::uint64_t i = matrix.begins[m]; i < matrix.begins[m + 1]; ++i, ++each) {
            EXPECT_EQ((Index{m, matrix.minors[i]}), each->first);
            EXPECT_EQ(matrix.values[i], each->second);
          }
        }
      }
    }
  }
}

TEST(CompressedMatrix, LeadsBackToTheSameTensor) {
  ThreadPool pool(2);
  CooTensor tensor = test::random_tensor({40, 30}, 500, 13);
  sum_duplicates(tensor, pool);
  EXPECT_TRUE(to_coo(to_compressed(tensor, Major::kRows, pool), pool) == tensor);
  EXPECT_TRUE(to_coo(to_compressed(tensor, Major::kColumns, pool), pool) == tensor);
  const CooTensor none(Index{3, 4});
  EXPECT_TRUE(to_coo(to_compressed(none, Major::kColumns, pool), pool) == none);
}

TEST(CompressedMatrix, TakesMoreColumnsThan32Bits) {
  ThreadPool pool(2);
  CooTensor tensor(Index{3, kWideSize});
  tensor.append(Index{2, kWideSize - 1}, 1.5);
  tensor.append(Index{2, 0}, 2.5);
  const CompressedMatrix matrix = to_compressed(tensor, Major::kRows, pool);
  EXPECT_TRUE(matrix.minors.wide());
  EXPECT_EQ(matrix.minors[1], kWideSize - 1);
  EXPECT_EQ(test::entries_of(to_coo(matrix, pool)), test::entries_of(tensor));
}

TEST(CompressedMatrix, RefusesWhatHasNoRowsOrTooMany) {
  ThreadPool pool(1);
  EXPECT_THAT(
      [&] {
        to_compressed(CooTensor(Index{2, 2, 2}), Major::kRows, pool);
      },
      ThrowsMessage<Error>(HasSubstr("has order 3")));
  EXPECT_THAT(
      [&] {
        to_compressed(CooTensor(Index{kWideSize, 2}), Major::kRows, pool);
      },
      ThrowsMessage<Error>(HasSubstr("at most 2^32 are possible")));
  EXPECT_NO_THROW(to_compressed(CooTensor(Index{kWideSize, 2}), Major::kColumns, pool));
}

TEST(CompressedMatrix, TellsItsBytes) {
  EXPECT_EQ(compressed_bytes(9, 100, 50), 10u * 8 + 50 * 12);
  EXPECT_EQ(compressed_bytes(std::uint64_t{1} << 32, 9, 1),
            ((std::uint64_t{1} << 32) + 1) * 8 + 12);
  EXPECT_EQ(compressed_bytes((std::uint64_t{1} << 32) + 1, 9, 1), std::nullopt);
  EXPECT_EQ(compressed_bytes(~std::uint64_t{0}, 9, 1), std::nullopt);
  EXPECT_EQ(compressed_bytes(9, kWideSize, 50), 10u * 8 + 50 * 16);
}

}  // namespace
}  // namespace tandem::sparse
