// SPDX-License-Identifier: Apache-2.0
//
// Exact top-k against a sort by f64 magnitudes and the candidates of the sparsifiers on the CPU.
#include "sparse/select_top.h"

#include <algorithm>
#include <bit>

#include "collectives/sparsifier/candidates.h"
#include "gpu_kernels/device_array.h"
#include "gpu_kernels/sparse/gradient_values.h"

namespace tandem::gpu_kernels {
namespace {

constexpr std::uint32_t kUnwritten = 0xa5a5a5a5u;  // the pattern of a DeviceArray

struct Top {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
  std::uint32_t num_entries, smallest_bits;
};

std::vector<std::uint32_t> sorted_top(const std::vector<float>& values, std::uint64_t begin,
                                      std::uint64_t end, std::size_t count) {
  std::vector<std::uint32_t> order;
  for (std::uint64_t i = begin; i < end; ++i) {
    if (!std::isnan(values[i])) order.push_back(static_cast<std::uint32_t>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::fabs(static_cast<double>(values[a])) > std::fabs(static_cast<double>(values[b]));
  });
  order.resize(std::min(count, order.size()));
  return order;
}

Top select(const std::vector<float>& values, std::uint64_t begin, std::uint64_t end,
           std::uint32_t count) {
  const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(count, end - begin));
  DeviceArray<float> device(values);
  DeviceArray<std::uint32_t> indices(room), num_entries(1), smallest(1);
  DeviceArray<float> values_out(room);
  DeviceArray<unsigned char> workspace(select_top_workspace_bytes(begin, end));
  SelectTop job;
  job.values = device.data();
  job.begin = begin;
  job.end = end;
  job.count = count;
  job.indices = indices.data();
  job.values_out = values_out.data();
  job.num_entries = num_entries.data();
  job.smallest_bits = smallest.data();
  job.workspace = workspace.data();
  EXPECT_EQ(select_top(job, nullptr), cudaSuccess);
  workspace.download();
  return {indices.download(), values_out.download(), num_entries.download().front(),
          smallest.download().front()};
}

void expect_top(const std::vector<float>& values, std::uint64_t begin, std::uint64_t end,
                std::uint32_t count) {
  SCOPED_TRACE(testing::Message() << count << " of " << begin << " to " << end);
  std::vector<std::uint32_t> expected = sorted_top(values, begin, end, count);
  const bool is_full = expected.size() == count;
  const std::uint32_t smallest =
      is_full && count > 0 ? std::bit_cast<std::uint32_t>(std::fabs(values[expected.back()])) : 0u;
  std::sort(expected.begin(), expected.end());
  Top got = select(values, begin, end, count);
  ASSERT_EQ(got.num_entries, expected.size());
  got.indices.resize(expected.size());
  ASSERT_EQ(got.indices, expected);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(got.values[i]),
              std::bit_cast<std::uint32_t>(values[expected[i]]));
  }
  ASSERT_EQ(got.smallest_bits, count == 0 || begin == end ? kUnwritten : smallest);
  collectives::HostCandidates candidates(values, begin, end, nullptr);
  const auto on_cpu = candidates.top(count);
  ASSERT_EQ(got.indices, std::vector<std::uint32_t>(on_cpu.begin(), on_cpu.end()));
}

TEST_P(KernelTest, TakesTheSortedTopOfAllKindsOfValuesAsTheCpuDoes) {
  for (const Values kind : kAllValues) {
    for (const std::size_t size : kGradientSizes) {
      const auto values = gradient_values(kind, size, 6);
      const auto n = static_cast<std::uint32_t>(size);
      for (const std::uint32_t count : {0u, 1u, n / 100 + 1, n / 3 + 1, n, n + 5}) {
        if (n > 1000 && (count == 1 || count == n / 3 + 1)) continue;  // time
        expect_top(values, 0, size, count);
      }
    }
  }
}

TEST_P(KernelTest, TakesTheTopOfAPartitionAtOddBorders) {
  const auto values = gradient_values(Values::kFewMagnitudes, 50'000, 7);
  for (const std::uint32_t count : {1u, 777u, 20'000u}) {
    expect_top(values, 8191, 8191 + 33'333, count);
  }
  expect_top(values, 49'999, 50'000, 1);
  expect_top(values, 100, 100, 3);
}

// One differing value in each digit of the radix.
TEST_P(KernelTest, TellsMagnitudesApartThatDifferInOneBitOnly) {
  for (int bit = 0; bit < 31; ++bit) {
    std::vector<float> values(3000, std::bit_cast<float>(0x3f000000u & ~(1u << bit)));
    values[1234] = -std::bit_cast<float>(0x3f000000u | 1u << bit);
    if (std::isnan(values[1234])) continue;
    expect_top(values, 0, values.size(), 1);
    expect_top(values, 0, values.size(), 2);
  }
}

TEST_P(KernelTest, TakesTheLowestPlacesOfTiesAcrossMoreTilesThanOneBlockSums) {
  constexpr std::uint32_t kSize = 1025 * 8192 + 3;
  std::vector<float> values(kSize, 0.0f);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t at = 11; at < kSize; at += 8111) {
    values[at] = at % 2 == 0 ? 1.0f : -1.0f;
    expected.push_back(at);
  }
  const auto all = static_cast<std::uint32_t>(expected.size());
  const Top got = select(values, 0, kSize, all - 1);
  ASSERT_EQ(got.num_entries, all - 1);
  expected.pop_back();
  ASSERT_EQ(got.indices, expected);
}

TEST_P(KernelTest, RefusesARangeBeyondThePlacesOfA32BitIndex) {
  SelectTop job;
  job.begin = 1;
  EXPECT_EQ(select_top(job, nullptr), cudaErrorInvalidValue);
  job.end = std::uint64_t{1} << 32;
  EXPECT_EQ(select_top(job, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
