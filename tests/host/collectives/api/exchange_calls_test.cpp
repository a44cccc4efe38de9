// SPDX-License-Identifier: Apache-2.0
//
// Dense all-reduce and the calls that move bytes: all-gather-v, all-to-all-v, broadcast, barrier.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "host/collectives/api/groups.h"

namespace tandem::collectives::test {
namespace {

using Bytes = RawVector<std::byte>;

// `size` bytes that only this pair of ranks has.
Bytes letter(int from, int to, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t at = 0; at < size; ++at) {
    bytes[at] = static_cast<std::byte>(at * 7 + static_cast<std::size_t>(from * 31 + to));
  }
  return bytes;
}

TEST(ExchangeCalls, AllgathervBringsEveryRanksBytesInRankOrder) {
  for (const int world : {1, 2, 3, 7, 8}) {
    expect_all_done(run_groups(world, [&](Group& group) {
      const auto size = [](int rank) { return static_cast<std::size_t>(rank % 3) * 1000; };
      const Bytes own = letter(group.rank(), 0, size(group.rank()));
      const auto all = allgatherv(group, own);
      ASSERT_EQ(all.size(), static_cast<std::size_t>(world));
      for (int rank = 0; rank < world; ++rank) {
        EXPECT_EQ(all[static_cast<std::size_t>(rank)], letter(rank, 0, size(rank)));
      }
    }));
  }
}

TEST(ExchangeCalls, AlltoallvBringsEachRankItsOwn) {
  for (const int world : {1, 2, 3, 7, 8}) {
    expect_all_done(run_groups(world, [&](Group& group) {
      const auto size = [](int from, int to) { return static_cast<std::size_t>(from * to) * 100; };
      std::vector<Bytes> letters;
      for (int to = 0; to < world; ++to) {
        letters.push_back(letter(group.rank(), to, size(group.rank(), to)));
      }
      const std::vector<std::span<const std::byte>> parts(letters.begin(), letters.end());
      const auto received = alltoallv(group, parts);
      ASSERT_EQ(received.size(), static_cast<std::size_t>(world));
      for (int from = 0; from < world; ++from) {
        EXPECT_EQ(received[static_cast<std::size_t>(from)],
                  letter(from, group.rank(), size(from, group.rank())));
      }
    }));
  }
}

TEST(ExchangeCalls, BroadcastReachesAllFromAnyRoot) {
  for (const int world : {1, 2, 3, 5, 8, 13}) {
    expect_all_done(run_groups(world, [&](Group& group) {
      for (int root = 0; root < world; ++root) {
        for (const std::size_t size : {0, 1, 4097}) {
          Bytes bytes = group.rank() == root ? letter(root, 9, size) : Bytes(size);
          broadcast(group, bytes, root);
          EXPECT_EQ(bytes, letter(root, 9, size));
        }
      }
    }));
  }
}

TEST(ExchangeCalls, NobodyLeavesABarrierBeforeAllHaveEntered) {
  std::atomic<int> entered{0};
  expect_all_done(run_groups(7, [&](Group& group) {
    for (int round = 1; round <= 20; ++round) {
      entered.fetch_add(1);
      barrier(group);
      EXPECT_GE(entered.load(), 7 * round);
      barrier(group);
    }
  }));
}

TEST(ExchangeCalls, DenseTensorsAreReducedInPlace) {
  for (const int world : {1, 2, 3, 4, 5, 8}) {
    for (const std::size_t count : {0, 1, 63, 64, 1000, 10007}) {
      expect_all_done(run_groups(world, [&](Group& group) {
        for (const char* scheme : {"auto", "dense_ring", "dense_halving_doubling"}) {
          ReduceOptions options;
          options.scheme = scheme;
          std::vector<std::uint64_t> values(count);
          for (std::size_t at = 0; at < count; ++at) {
            values[at] = at * static_cast<std::size_t>(group.rank() + 1);
          }
          allreduce(group, DenseView::of(values), options);
          const auto factor = static_cast<std::size_t>(world * (world + 1) / 2);
          for (std::size_t at = 0; at < count; ++at) ASSERT_EQ(values[at], at * factor);
        }
      }));
    }
  }
}

TEST(ExchangeCalls, DenseSchemesAreChosenBySize) {
  for (const int world : {3, 4}) {
    expect_all_done(run_groups(world, [&](Group& group) {
      std::vector<float> values(1 << 16, 1.0f);
      allreduce(group, DenseView::of(values));
      EXPECT_EQ(values.back(), static_cast<float>(world));
      EXPECT_EQ(last_report(group).scheme, world == 3 ? "dense_ring" : "dense_halving_doubling");
      values.resize(100);
      allreduce(group, DenseView::of(values));
      EXPECT_EQ(last_report(group).scheme, "dense_halving_doubling");
    }));
  }
}

TEST(ExchangeCalls, DenseMeanAndMaxWorkInEveryType) {
  expect_all_done(run_groups(3, [](Group& group) {
    ReduceOptions options;
    options.reduction = Reduction::kMax;
    std::vector<float> values = {-5.0f - static_cast<float>(group.rank()), 0.0f};
    allreduce(group, DenseView::of(values), options);
    EXPECT_EQ(values, (std::vector<float>{-5.0f, 0.0f}));
    options.reduction = Reduction::kMean;
    std::vector<std::uint64_t> counts = {static_cast<std::uint64_t>(group.rank())};
    counts[0] += 3;
    allreduce(group, DenseView::of(counts), options);
    EXPECT_EQ(counts[0], 4u);
    std::vector<std::uint16_t> halves = {f32_to_bf16(1.5f), f32_to_bf16(-2.0f)};
    allreduce(group, {DType::kBF16, 2, halves.data()});
    EXPECT_EQ(bf16_to_f32(halves[0]), 4.5f);
    EXPECT_EQ(bf16_to_f32(halves[1]), -6.0f);
  }));
}

TEST(ExchangeCalls, CallsFromSeveralThreadsOfOneRankQueue) {
  // Barriers only: any order of them is the same on all ranks.
  expect_all_done(run_groups(3, [](Group& group) {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&group] {
        for (int round = 0; round < 20; ++round) barrier(group);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }));
}

}  // namespace
}  // namespace tandem::collectives::test
