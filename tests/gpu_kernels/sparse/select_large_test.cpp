// SPDX-License-Identifier: Apache-2.0
//
// Selection by a threshold against plain loops in f64 and the loops of the sparsifiers on the CPU.
#include "sparse/select_large.h"

#include <algorithm>
#include <bit>

#include "collectives/sparsifier/candidates.h"
#include "gpu_kernels/device_array.h"
#include "gpu_kernels/sparse/gradient_values.h"

namespace tandem::gpu_kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Range {
  std::uint64_t begin, end;
};

struct Selected {
  std::vector<std::uint32_t> indices, bits;
};

std::vector<std::uint32_t> bits_at(const std::vector<float>& values,
                                   const std::vector<std::uint32_t>& indices) {
  std::vector<std::uint32_t> bits;
  for (const std::uint32_t index : indices)
    bits.push_back(std::bit_cast<std::uint32_t>(values[index]));
  return bits;
}

std::vector<std::uint32_t> naive_at_least(const std::vector<float>& values, Range range,
                                          float threshold) {
  std::vector<std::uint32_t> found;
  for (std::uint64_t i = range.begin; i < range.end; ++i) {
    if (std::fabs(static_cast<double>(values[i])) >= static_cast<double>(threshold)) {
      found.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return found;
}

// Arrays that are full to the last byte, between fences.
Selected select(const std::vector<float>& values, Range range, float threshold,
                std::uint32_t max_entries, std::uint32_t* num_entries) {
  DeviceArray<float> device(values);
  DeviceArray<std::uint32_t> indices(max_entries), count(1);
  DeviceArray<float> values_out(max_entries);
  DeviceArray<unsigned char> workspace(select_large_workspace_bytes(range.begin, range.end));
  SelectLarge job;
  job.values = device.data();
  job.begin = range.begin;
  job.end = range.end;
  job.threshold = threshold;
  job.max_entries = max_entries;
  job.indices = indices.data();
  job.values_out = values_out.data();
  job.num_entries = count.data();
  job.workspace = workspace.data();
  EXPECT_EQ(select_large(job, nullptr), cudaSuccess);
  workspace.download();
  *num_entries = count.download().front();
  Selected selected{indices.download(), {}};
  for (const float value : values_out.download()) {
    selected.bits.push_back(std::bit_cast<std::uint32_t>(value));
  }
  return selected;
}

void expect_selects(const std::vector<float>& values, Range range, float threshold) {
  SCOPED_TRACE(testing::Message() << range.begin << " to " << range.end << " from " << threshold);
  const std::vector<std::uint32_t> expected = naive_at_least(values, range, threshold);
  std::uint32_t count = 0;
  const Selected got =
      select(values, range, threshold, static_cast<std::uint32_t>(expected.size()), &count);
  ASSERT_EQ(count, expected.size());
  ASSERT_EQ(got.indices, expected);
  ASSERT_EQ(got.bits, bits_at(values, expected));
  const auto on_cpu =
      collectives::find_at_least(values, range.begin, range.end, threshold, nullptr);
  ASSERT_EQ(got.indices, std::vector<std::uint32_t>(on_cpu.begin(), on_cpu.end()));
}

TEST_P(KernelTest, SelectsWhatTheCpuSelectsFromAllKindsOfValues) {
  for (const Values kind : kAllValues) {
    for (const std::size_t size : kGradientSizes) {
      const auto values = gradient_values(kind, size, 1);
      for (const float threshold : {0.0f, -1.0f, 0x1p-149f, 0.02f, 0.7f, kInfinity}) {
        if (size > 1000 && (threshold == -1.0f || threshold == 0.7f)) continue;  // time
        expect_selects(values, {0, size}, threshold);
      }
    }
  }
}

TEST_P(KernelTest, SelectsNothingFromANaNAndFromAnEmptyRange) {
  const auto values = gradient_values(Values::kNonFinite, 1000, 2);
  expect_selects(values, {0, 1000}, kNaN);
  expect_selects(values, {500, 500}, 0);
  expect_selects(values, {1000, 1000}, 0);
}

TEST_P(KernelTest, SelectsFromPartitionsAtOddBordersWithPlacesOfTheWhole) {
  constexpr std::uint64_t kSize = 100'003;
  const auto values = gradient_values(Values::kLaplace, kSize, 3);
  for (const std::uint64_t parts : {1, 3, 7}) {
    for (std::uint64_t part = 0; part < parts; ++part) {
      expect_selects(values, {kSize * part / parts, kSize * (part + 1) / parts}, 0.03f);
    }
  }
  for (const Range range : {Range{1, 2}, Range{31, 33}, Range{8191, 8193}, Range{99'999, kSize}}) {
    expect_selects(values, range, 0);
  }
}

TEST_P(KernelTest, SelectsNoMoreThanThereIsRoomForAndThenWritesTheRestFromItsBitmap) {
  constexpr std::uint32_t kSize = 20'000, kRoom = 9000;
  const auto values = gradient_values(Values::kTies, kSize, 4);
  DeviceArray<float> device(values);
  DeviceArray<std::uint32_t> few(kRoom), all(kSize), count(1);
  DeviceArray<float> few_values(kRoom), all_values(kSize);
  DeviceArray<unsigned char> workspace(select_large_workspace_bytes(0, kSize));
  SelectLarge job;
  job.values = device.data();
  job.end = kSize;
  job.threshold = 0.5f;
  job.max_entries = kRoom;
  job.indices = few.data();
  job.values_out = few_values.data();
  job.num_entries = count.data();
  job.workspace = workspace.data();
  ASSERT_EQ(select_large(job, nullptr), cudaSuccess);
  EXPECT_EQ(count.download().front(), kSize);
  const auto first = few.download();
  few_values.download();
  for (std::uint32_t at = 0; at < kRoom; ++at) ASSERT_EQ(first[at], at);
  job.max_entries = kSize;
  job.indices = all.data();
  job.values_out = all_values.data();
  job.threshold = kNaN;  // is not used
  ASSERT_EQ(write_selected(job, nullptr), cudaSuccess);
  workspace.download();
  EXPECT_EQ(count.download().front(), kSize);
  EXPECT_EQ(all.download().back(), kSize - 1);
  EXPECT_EQ(all_values.download(), values);
}

TEST_P(KernelTest, CountsAboveSeveralThresholdsAtOnceAsTheCandidatesDo) {
  for (const Values kind : kAllValues) {
    for (const std::size_t size : kGradientSizes) {
      const auto values = gradient_values(kind, size, 5);
      const Range range{size / 3, size - size / 50};
      CountLarge job;
      const float thresholds[] = {0,    0x1p-149f, 0x1p-126f, 0.001f, 0.01f,
                                  0.7f, 3,         kInfinity, kNaN,   -1};
      std::copy(std::begin(thresholds), std::end(thresholds), job.thresholds);
      job.num_thresholds = std::size(thresholds);
      DeviceArray<float> device(values);
      DeviceArray<std::uint32_t> counts(std::size(thresholds));
      job.values = device.data();
      job.begin = range.begin;
      job.end = range.end;
      job.counts = counts.data();
      ASSERT_EQ(count_large(job, nullptr), cudaSuccess);
      const auto got = counts.download();
      collectives::HostCandidates candidates(values, range.begin, range.end, nullptr);
      for (std::size_t i = 0; i < std::size(thresholds); ++i) {
        SCOPED_TRACE(testing::Message() << size << " values from " << thresholds[i]);
        ASSERT_EQ(got[i], naive_at_least(values, range, thresholds[i]).size());
        ASSERT_EQ(got[i], candidates.count_at_least(thresholds[i]));
      }
    }
  }
}

TEST_P(KernelTest, RefusesRangesAndThresholdsThatItCannotCount) {
  DeviceArray<std::uint32_t> counts(kMostThresholds);
  CountLarge count;
  count.counts = counts.data();
  count.num_thresholds = kMostThresholds + 1;
  EXPECT_EQ(count_large(count, nullptr), cudaErrorInvalidValue);
  count.num_thresholds = kMostThresholds;
  ASSERT_EQ(count_large(count, nullptr), cudaSuccess);  // of nothing
  EXPECT_EQ(counts.download(), std::vector<std::uint32_t>(kMostThresholds, 0u));
  SelectLarge job;
  job.begin = 2;
  job.end = 1;
  EXPECT_EQ(select_large(job, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(write_selected(job, nullptr), cudaErrorInvalidValue);
  job.end = std::uint64_t{1} << 32;
  EXPECT_EQ(select_large(job, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
