// SPDX-License-Identifier: Apache-2.0
//
// mttkrp against naive loops over all cells in double precision.
#include "tensor/sparse/kernels/mttkrp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "../random_tensor.h"

namespace tandem::sparse {
namespace {

using test::Index;

template <typename Value>
std::vector<FactorMatrix<Value>> random_factors(const Index& sizes, std::size_t rank) {
  std::mt19937_64 engine(41);
  std::vector<FactorMatrix<Value>> factors;
  for (const std::uint64_t size : sizes) {
    FactorMatrix<Value>& factor = factors.emplace_back(size, rank);
    for (std::uint64_t row = 0; row < size; ++row) {
      for (std::size_t r = 0; r < rank; ++r) {
        factor.row(row)[r] = static_cast<Value>(static_cast<double>(engine() % 2001) / 1000 - 1);
      }
    }
  }
  return factors;
}

// Sums and sums of magnitudes, [sizes[mode], rank].
template <typename Value>
std::pair<std::vector<double>, std::vector<double>> naive_mttkrp(
    const CooTensor& tensor, const std::vector<FactorMatrix<Value>>& factors, std::size_t mode) {
  const std::size_t rank = factors[0].columns;
  std::vector<double> sums(tensor.sizes[mode] * rank), magnitudes(sums.size());
  for (std::size_t entry = 0; entry < tensor.num_entries(); ++entry) {
    const Index index = test::index_of_entry(tensor, entry);
    for (std::size_t r = 0; r < rank; ++r) {
      double product = tensor.values[entry];
      for (std::size_t m = 0; m < tensor.order(); ++m) {
        if (m != mode) product *= static_cast<double>(factors[m].row(index[m])[r]);
      }
      sums[index[mode] * rank + r] += product;
      magnitudes[index[mode] * rank + r] += std::abs(product);
    }
  }
  return {sums, magnitudes};
}

template <typename Value>
void expect_naive(const Index& sizes, std::size_t num_entries, std::size_t rank, int threads) {
  const double epsilon = 16 * static_cast<double>(std::numeric_limits<Value>::epsilon());
  ThreadPool pool(threads);
  const CooTensor tensor = test::random_tensor(sizes, num_entries, 42);
  const BlockPartition<Value> blocks = partition_blocks<Value>(tensor, pool);
  const std::vector<FactorMatrix<Value>> factors = random_factors<Value>(sizes, rank);
  for (std::size_t mode = 0; mode < sizes.size(); ++mode) {
    FactorMatrix<Value> out(sizes[mode], rank);
    std::fill(out.values.begin(), out.values.end(), Value{7});  // overwritten
    mttkrp<Value>(blocks, factors, mode, out, pool);
    const auto [sums, magnitudes] = naive_mttkrp(tensor, factors, mode);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(out.row(i / rank)[i % rank]), sums[i],
                  epsilon * magnitudes[i])
          << testing::PrintToString(sizes) << " rank " << rank << " mode " << mode << " threads "
          << threads;
    }
  }
}

TEST(Mttkrp, IsTheNaiveLoopForEveryOrderRankAndNumberOfThreads) {
  const std::vector<Index> shapes{{40},       {30, 20},       {1, 50},         {9, 8, 7},
                                  {1, 1, 60}, {12, 3, 10, 6}, {4, 3, 5, 2, 6}, Index(12, 2)};
  for (const Index& sizes : shapes) {
    for (const std::size_t rank : {1, 16, 35}) {
      for (const int threads : {1, 2, 5}) {
        expect_naive<float>(sizes, 500, rank, threads);
        expect_naive<double>(sizes, 500, rank, threads);
      }
    }
  }
}

TEST(Mttkrp, AddsUpManyBlocks) {
  for (const int threads : {1, 3}) expect_naive<double>({300, 200, 400}, 60'000, 16, threads);
}

TEST(FactorMatrix, RowsOfSixteenFloatsAreCacheLines) {
  std::vector<FactorMatrix<float>> factors;
  for (const std::size_t rows : {1, 3, 50, 1000, 40000}) factors.emplace_back(rows, 16);
  for (const auto& factor : factors) {
    const FactorMatrix<float> copy = factor;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(factor.row(0)) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy.row(0)) % 64, 0u);
  }
}

TEST(Mttkrp, OfATensorWithoutEntriesIsZero) {
  for (const int threads : {1, 3}) expect_naive<float>({5, 4}, 0, 3, threads);
}

}  // namespace
}  // namespace tandem::sparse
