// SPDX-License-Identifier: Apache-2.0
//
// Blocks: every entry in exactly one, within bounds, small where entries are dense.
#include "tensor/sparse/kernels/block_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../random_tensor.h"
#include "common/error.h"

namespace tandem::sparse {
namespace {

using test::Index;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <typename Value>
BlockPartition<Value> blocks_of(const CooTensor& tensor, int threads = 2) {
  ThreadPool pool(threads);
  return partition_blocks<Value>(tensor, pool);
}

CooTensor unpacked_blocks(const BlockPartition<double>& blocks) {
  CooTensor tensor(blocks.sizes);
  for (std::size_t block = 0; block < blocks.num_blocks(); ++block) {
    for (std::size_t i = blocks.begins[block]; i < blocks.begins[block + 1]; ++i) {
      Index index;
      for (std::size_t mode = 0; mode < blocks.order(); ++mode) {
        index.push_back(blocks.bases[block * blocks.order() + mode] +
                        blocks.distances[i * blocks.order() + mode]);
        EXPECT_LT(index.back(), blocks.ends[block * blocks.order() + mode]);
      }
      tensor.append(index, blocks.values[i]);
    }
  }
  return tensor;
}

TEST(BlockPartition, HoldsEveryEntryInExactlyOneBlock) {
  const std::vector<Index> shapes{{1},
                                  {9000},
                                  {300, 400},
                                  {1u << 31, 1u << 30},
                                  {70, 80, 90},
                                  {1, 5000, 1},
                                  {3, 200'000, 70, 900},
                                  Index(12, 4)};
  for (const Index& sizes : shapes) {
    const CooTensor tensor = test::random_tensor(sizes, 20'000, 31);
    for (const int threads : {1, 3}) {
      const BlockPartition<double> blocks = blocks_of<double>(tensor, threads);
      EXPECT_EQ(blocks.begins.back(), tensor.num_entries());
      for (std::size_t block = 0; block < blocks.num_blocks(); ++block) {
        EXPECT_LT(blocks.begins[block], blocks.begins[block + 1]);
      }
      EXPECT_EQ(test::entries_of(unpacked_blocks(blocks)), test::entries_of(tensor));
    }
  }
}

TEST(BlockPartition, KeepsBlocksSmallUnlessTheirEntriesAreOneCell) {
  const BlockPartition<float> blocks =
      blocks_of<float>(test::random_tensor({500, 600}, 50'000, 32));
  for (std::size_t block = 0; block < blocks.num_blocks(); ++block) {
    EXPECT_LE(blocks.begins[block + 1] - blocks.begins[block], kMostBlockEntries);
  }
  CooTensor cell(Index{500, 600});
  for (int i = 0; i < 5000; ++i) cell.append(Index{7, 9}, 1);
  EXPECT_EQ(blocks_of<float>(cell).num_blocks(), 1u);
}

TEST(BlockPartition, FusesNeighboursWithFewEntries) {
  // A dense corner of 64 x 64 x 8 cells, and 1000 entries elsewhere.
  CooTensor tensor = test::random_tensor({4096, 4096, 4096}, 1000, 33);
  for (std::uint64_t i = 0; i < 64 * 64 * 8; ++i)
    tensor.append(Index{i / 512, i / 8 % 64, i % 8}, 1);
  const BlockPartition<float> blocks = blocks_of<float>(tensor);
  EXPECT_GE(blocks.num_blocks(), 9u);
  EXPECT_LE(blocks.num_blocks(), 18u) << "neighbours together have more than the bound";
  for (std::size_t block = 0; block + 2 < blocks.num_blocks(); ++block) {
    EXPECT_GT(blocks.begins[block + 2] - blocks.begins[block], kMostBlockEntries);
  }
}

TEST(BlockPartition, SplitsFurtherThan16BitsReach) {
  CooTensor tensor(Index{1u << 20, 4});
  for (std::uint64_t i = 0; i < 16; ++i) tensor.append(Index{i << 16, i % 4}, 1);
  const BlockPartition<double> blocks = blocks_of<double>(tensor);
  EXPECT_EQ(blocks.num_blocks(), 16u);
  EXPECT_EQ(test::entries_of(unpacked_blocks(blocks)), test::entries_of(tensor));
}

TEST(BlockPartition, TakesATensorWithoutEntriesAndRefusesMoreThan64Bits) {
  EXPECT_EQ(blocks_of<float>(CooTensor(Index{4, 5})).num_blocks(), 0u);
  EXPECT_EQ(blocks_of<float>(test::random_tensor({30, 40, 50}, 100, 3)).size_bytes(),
            2 * 8 + 3 * 16 + 100 * (3 * 2 + 4));
  EXPECT_THAT(
      [] {
        blocks_of<float>(CooTensor(Index{~std::uint64_t{0}, 5}));
      },
      ThrowsMessage<Error>(HasSubstr("these modes need 67")));
}

}  // namespace
}  // namespace tandem::sparse
