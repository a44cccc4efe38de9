// SPDX-License-Identifier: Apache-2.0
//
// Profiles against exact statistics of the same supports, and against garbage.
#include "collectives/selection/profile.h"

#include <gtest/gtest.h>

#include "tensor/sparse/generate/random_subset.h"
#include "tensor/sparse/generate/synthetic.h"
#include "tensor/sparse/supports.h"

namespace tandem::collectives {
namespace {

struct Both {
  Problem exact, estimated;
};

Both profile_world(const sparse::SyntheticOptions& options, int world) {
  std::vector<SparseVector> inputs;
  std::vector<RankProfile> profiles;
  for (int rank = 0; rank < world; ++rank) {
    inputs.push_back(sparse::synthetic_gradient(options, rank, world, 11));
    ByteBuffer bytes;
    profile_support(inputs.back(), world).append_to(bytes);
    std::span<const std::byte> rest = bytes;
    profiles.push_back(RankProfile::parse(rest, world));
    EXPECT_TRUE(rest.empty());
  }
  Both both;
  fill_measured(both.exact, inputs);
  both.estimated.domain = options.domain;
  fill_from_profiles(both.estimated, profiles);
  return both;
}

TEST(Profile, IsExactForSmallSupports) {
  sparse::SyntheticOptions options;
  options.domain = {20'000, 1};
  options.density = 0.03;
  options.overlap = 0.4;
  const auto [exact, estimated] = profile_world(options, 5);
  for (std::size_t k = 0; k <= 5; ++k) {
    EXPECT_NEAR(estimated.union_entries[k], exact.union_entries[k], 1e-6);
    EXPECT_NEAR(estimated.union_blocks[k], exact.union_blocks[k], 1e-6);
  }
}

TEST(Profile, EstimatesUnionsOfLargeSupports) {
  for (const double overlap : {-1.0, 0.0, 0.2, 0.9}) {
    for (const int world : {2, 8, 32}) {
      sparse::SyntheticOptions options;
      options.domain = {2'000'000, 1};
      options.density = 0.01;
      options.overlap = overlap;
      const auto [exact, estimated] = profile_world(options, world);
      for (int k = 1; k <= world; ++k) {
        const auto at = static_cast<std::size_t>(k);
        EXPECT_NEAR(estimated.union_entries[at] / exact.union_entries[at], 1, 0.1)
            << overlap << " " << world << " " << k;
        EXPECT_NEAR(estimated.union_blocks[at] / exact.union_blocks[at], 1, 0.1);
      }
      EXPECT_DOUBLE_EQ(estimated.union_entries[1], exact.union_entries[1]);
    }
  }
}

TEST(Profile, SeesTheImbalanceOfEvenRanges) {
  for (const double overlap : {0.1, 0.7}) {
    sparse::SyntheticOptions options;
    options.domain = {1'000'000, 1};
    options.density = 0.01;
    options.overlap = overlap;
    sparse::set_first_eighth_skew(options);
    const auto [exact, estimated] = profile_world(options, 16);
    EXPECT_NEAR(estimated.even_push_imbalance, exact.even_push_imbalance, 1e-9);
    EXPECT_NEAR(estimated.even_pull_imbalance / exact.even_pull_imbalance, 1, 0.15);
    EXPECT_NEAR(estimated.even_block_push_imbalance, exact.even_block_push_imbalance, 1e-9);
    EXPECT_NEAR(estimated.even_block_pull_imbalance / exact.even_block_pull_imbalance, 1, 0.15);
  }
}

TEST(Profile, SeesRowsAsUnits) {
  sparse::SyntheticOptions options;
  options.domain = {10'000, 64};
  options.density = 0.05;
  const auto [exact, estimated] = profile_world(options, 4);
  EXPECT_NEAR(estimated.union_blocks[4], exact.union_blocks[4], 1e-6);
  EXPECT_LE(estimated.union_blocks[4], 2500);
}

TEST(Profile, OfNothingIsBalanced) {
  sparse::SyntheticOptions options;
  options.domain = {1000, 1};
  options.density = 0;
  const auto [exact, estimated] = profile_world(options, 3);
  EXPECT_EQ(estimated.union_entries, (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(estimated.even_pull_imbalance, 1);
  EXPECT_EQ(estimated.entry_imbalance, 1);
}

TEST(Profile, RejectsGarbageWithoutHarm) {
  sparse::SyntheticOptions options;
  options.domain = {100'000, 1};
  options.density = 0.05;
  ByteBuffer bytes;
  profile_support(sparse::synthetic_gradient(options, 0, 4, 1), 4).append_to(bytes);
  for (std::size_t size = 0; size < bytes.size(); size += 97) {
    std::span<const std::byte> cut(bytes.data(), size);
    EXPECT_THROW(RankProfile::parse(cut, 4), Error);
  }
  sparse::Random random(5);
  for (int round = 0; round < 300; ++round) {
    ByteBuffer damaged = bytes;
    for (int flips = 0; flips < 8; ++flips) {
      damaged[random.below(round < 150 ? 48 : damaged.size())] = std::byte(random.next() & 255);
    }
    std::span<const std::byte> rest = damaged;
    try {
      const std::vector<RankProfile> profiles(4, RankProfile::parse(rest, 4));
      Problem problem;
      problem.domain = options.domain;
      fill_from_profiles(problem, profiles);
      for (double size : problem.union_entries) EXPECT_GE(size, 0);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace tandem::collectives
