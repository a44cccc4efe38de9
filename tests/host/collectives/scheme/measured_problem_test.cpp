// SPDX-License-Identifier: Apache-2.0
//
// A Problem filled from the ranks' own vectors, against unions by sets.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "collectives/scheme/problem.h"
#include "tensor/sparse/generate/synthetic.h"

namespace tandem::collectives {
namespace {

std::vector<SparseVector> world_of(const sparse::SyntheticOptions& options, int world) {
  std::vector<SparseVector> by_rank;
  for (int rank = 0; rank < world; ++rank) {
    by_rank.push_back(synthetic_gradient(options, rank, world, 5));
  }
  return by_rank;
}

TEST(MeasuredProblem, MatchesTheNaiveUnionOfEveryChoice) {
  sparse::SyntheticOptions options;
  options.domain = {300, 1};
  options.density = 0.1;
  const auto by_rank = world_of(options, 4);
  Problem problem;
  fill_measured(problem, by_rank);
  std::vector<double> sum(5, 0), choices(5, 0);
  for (unsigned chosen = 1; chosen < 16; ++chosen) {
    std::set<std::uint32_t> all;
    std::size_t size = 0;
    for (unsigned rank = 0; rank < 4; ++rank) {
      if ((chosen >> rank & 1) == 0) continue;
      ++size;
      for (std::uint32_t unit : by_rank[rank].indices<std::uint32_t>()) all.insert(unit);
    }
    sum[size] += static_cast<double>(all.size());
    choices[size] += 1;
  }
  for (std::size_t size = 1; size <= 4; ++size) {
    EXPECT_NEAR(problem.union_entries[size], sum[size] / choices[size], 1e-9);
  }
  EXPECT_EQ(problem.union_blocks[4], 2);
}

}  // namespace
}  // namespace tandem::collectives
