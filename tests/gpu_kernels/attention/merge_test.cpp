// SPDX-License-Identifier: Apache-2.0
//
// Merging partial results against the formula in double precision.
#include "attention/merge.h"

#include <cmath>
#include <limits>
#include <random>

#include "gpu_kernels/device_array.h"

namespace tandem::gpu_kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Partials {
  Partials(std::int64_t num_rows, int num_heads, int dim, int num_sources)
      : rows(num_rows), heads(num_heads), head_dim(dim) {
    std::mt19937 random(static_cast<unsigned>(num_sources * 7 + dim));
    std::normal_distribution<float> normal;
    const auto size = static_cast<std::size_t>(rows * heads);
    for (int source = 0; source < num_sources; ++source) {
      std::vector<float> values(size * static_cast<unsigned>(dim)), logs(size);
      for (float& value : values) value = normal(random);
      for (float& value : logs) value = 5 * normal(random);
      o.push_back(values);
      lse.push_back(logs);
      covers.emplace_back();
      for (std::int32_t row = 0; row < rows; ++row) {
        if (random() % 3 != 0) covers.back().push_back(row);
      }
    }
  }

  void run(bool in_place = false) {
    std::vector<std::unique_ptr<DeviceArray<float>>> arrays;
    std::vector<MergeCover> list;
    std::size_t listed = 0;
    for (std::size_t i = 0; i < o.size(); ++i) {
      arrays.push_back(std::make_unique<DeviceArray<float>>(o[i]));
      arrays.push_back(std::make_unique<DeviceArray<float>>(lse[i]));
      list.push_back({{arrays[2 * i]->data(), arrays[2 * i + 1]->data()}, covers[i]});
      listed += covers[i].size();
    }
    std::vector<std::byte> coverage(merge_coverage_bytes(rows, listed));
    ASSERT_TRUE(plan_merge(rows, list, coverage));
    DeviceArray<std::byte> device_coverage(coverage);
    const auto size = static_cast<std::size_t>(rows * heads);
    DeviceArray<float> to(size * static_cast<unsigned>(head_dim)), to_lse(size);
    MergePartials job{rows, heads, head_dim, device_coverage.data(), to.data(), to_lse.data()};
    if (in_place) {
      job.out = arrays[0]->data();
      job.lse = arrays[1]->data();
    }
    ASSERT_EQ(merge_partials(job, nullptr), cudaSuccess);
    merged = in_place ? arrays[0]->download() : to.download();
    merged_lse = in_place ? arrays[1]->download() : to_lse.download();
  }

  void expect() const {
    for (std::int64_t index = 0; index < rows * heads; ++index) {
      const auto at = static_cast<std::size_t>(index);
      double sum = 0;
      std::vector<double> value(static_cast<std::size_t>(head_dim), 0.0);
      for (std::size_t i = 0; i < o.size(); ++i) {
        const auto row = static_cast<std::int32_t>(index / heads);
        if (std::find(covers[i].begin(), covers[i].end(), row) == covers[i].end()) continue;
        const double weight = std::exp(static_cast<double>(lse[i][at]));
        sum += weight;
        if (weight == 0) continue;
        for (std::size_t d = 0; d < value.size(); ++d) {
          value[d] += weight * static_cast<double>(o[i][at * value.size() + d]);
        }
      }
      if (sum == 0) {
        ASSERT_EQ(merged_lse[at], -kInf) << index;
      } else {
        ASSERT_NEAR(merged_lse[at], std::log(sum), 1e-5) << index;
      }
      for (std::size_t d = 0; d < value.size(); ++d) {
        ASSERT_NEAR(merged[at * value.size() + d], sum == 0 ? 0 : value[d] / sum, 1e-5) << index;
      }
    }
  }

  std::int64_t rows;
  int heads, head_dim;
  std::vector<std::vector<float>> o, lse;
  std::vector<std::vector<std::int32_t>> covers;
  std::vector<float> merged, merged_lse;
};

TEST_P(KernelTest, MergesAnyNumberOfPartials) {
  for (const int num_sources : {1, 2, 3, 8, 40}) {
    for (const int head_dim : {64, 80, 256, 33}) {
      Partials partials(9, 3, head_dim, num_sources);
      partials.run();
      partials.expect();
    }
  }
}

TEST_P(KernelTest, MergesIntoOneOfThePartials) {
  Partials partials(7, 2, 64, 3);
  partials.run(true);
  partials.expect();
}

TEST_P(KernelTest, RowsThatNothingCoversBecomeZero) {
  Partials partials(4, 2, 64, 2);
  partials.covers = {{0, 2}, {2}};
  partials.run();
  EXPECT_EQ(partials.merged[1 * 2 * 64], 0.0f);
  EXPECT_EQ(partials.merged_lse[1 * 2], -kInf);
  EXPECT_NE(partials.merged[2 * 2 * 64], 0.0f);
}

TEST_P(KernelTest, EmptyPartialsWeighNothingWhateverTheyHold) {
  Partials partials(2, 1, 64, 2);
  partials.covers = {{0, 1}, {0, 1}};
  partials.lse[0] = {-kInf, -kInf};
  std::fill(partials.o[0].begin(), partials.o[0].end(), kNan);
  partials.lse[1][1] = -kInf;
  partials.run();
  for (std::size_t d = 0; d < 64; ++d) {
    EXPECT_EQ(partials.merged[d], partials.o[1][d]);
    EXPECT_EQ(partials.merged[64 + d], 0.0f);
  }
  EXPECT_EQ(partials.merged_lse[1], -kInf);
}

TEST_P(KernelTest, NanStaysWithItsRowAndHead) {
  Partials partials(2, 2, 64, 2);
  partials.covers = {{0, 1}, {0, 1}};
  partials.lse[0][1] = kNan;  // row 0, head 1
  partials.run();
  for (std::size_t at = 0; at < 4; ++at) {
    EXPECT_EQ(std::isnan(partials.merged[at * 64]), at == 1);
    EXPECT_EQ(std::isnan(partials.merged_lse[at]), at == 1);
  }
}

TEST_P(KernelTest, MergesThatNameRowsOutOfRangeAreRefused) {
  const std::vector<std::int32_t> rows = {0, 5};
  std::vector<std::byte> coverage(merge_coverage_bytes(5, 2));
  EXPECT_FALSE(plan_merge(5, std::vector<MergeCover>{{{}, rows}}, coverage));
  coverage.resize(8);
  EXPECT_FALSE(plan_merge(6, std::vector<MergeCover>{{{}, rows}}, coverage));
  EXPECT_EQ(merge_partials({1, 0, 64, nullptr, nullptr, nullptr}, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
