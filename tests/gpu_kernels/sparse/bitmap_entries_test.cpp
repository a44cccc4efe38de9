// SPDX-License-Identifier: Apache-2.0
//
// Compaction and decoding of bitmaps against compact() of the collectives library and naive loops.
#include "sparse/bitmap_entries.h"

#include <cmath>
#include <limits>

#include "gpu_kernels/device_array.h"
#include "gpu_kernels/sparse/random_entries.h"
#include "tensor/sparse/merge.h"

namespace tandem::gpu_kernels {
namespace {

template <typename T>
struct Entries {
  std::vector<std::uint32_t> indices;
  std::vector<T> values;
  std::uint32_t num_entries = 0;
};

// values: dense or packed, in device memory.
template <typename T>
Entries<T> take(std::uint32_t* bitmap, std::uint64_t num_positions, const void* values,
                ValueType type, bool packed, std::uint32_t max_entries) {
  DeviceArray<std::uint32_t> indices(max_entries), count(1);
  DeviceArray<T> values_out(max_entries);
  DeviceArray<unsigned char> workspace(take_entries_workspace_bytes(num_positions));
  TakeEntries job;
  job.bitmap = bitmap;
  job.num_positions = num_positions;
  job.values = values;
  job.type = type;
  job.packed = packed;
  job.max_entries = max_entries;
  job.indices = indices.data();
  job.values_out = values_out.data();
  job.num_entries = count.data();
  job.workspace = workspace.data();
  EXPECT_EQ(take_entries(job, nullptr), cudaSuccess);
  workspace.download();
  return {indices.download(), values_out.download(), count.download().front()};
}

template <typename T>
void expect_compacts(std::uint64_t num_positions, std::size_t count, DType type, ValueType value,
                     sparse::Reduction reduction) {
  SCOPED_TRACE(testing::Message() << count << " of " << num_positions);
  sparse::DenseVector dense({num_positions, 1}, type, reduction);
  const auto given = random_values<T>(count, 2);
  const auto at = random_indices(count, num_positions, 3);
  const auto all = dense.values<T>();
  for (std::size_t entry = 0; entry < count; ++entry) all[at[entry]] = given[entry];
  if constexpr (std::is_floating_point_v<T>) {
    if (count > 2) all[at[1]] = std::numeric_limits<T>::quiet_NaN();
    if (count > 3) all[at[2]] = T(-0.0);
  }
  const auto expected = compact(dense, reduction);

  DeviceArray<T> device_dense(std::span<const T>(all.data(), all.size()));
  DeviceArray<std::uint32_t> bitmap((num_positions + 31) / 32);
  MarkPresent mark;
  mark.values = device_dense.data();
  mark.type = value;
  mark.num_positions = num_positions;
  mark.absent_is_least = reduction == sparse::Reduction::kMax;
  mark.bitmap = bitmap.data();
  ASSERT_EQ(mark_present(mark, nullptr), cudaSuccess);
  bitmap.download();
  const auto got = take<T>(bitmap.data(), num_positions, device_dense.data(), value, false,
                           static_cast<std::uint32_t>(expected.num_entries()));
  ASSERT_EQ(got.num_entries, expected.num_entries());
  const auto indices = expected.indices<std::uint32_t>();
  ASSERT_EQ(got.indices, std::vector<std::uint32_t>(indices.begin(), indices.end()));
  ASSERT_EQ(bytes_of(got.values.data(), got.values.size()),
            bytes_of(expected.values<T>().data(), expected.num_entries()));
}

TEST_P(KernelTest, CompactsDenseValuesAsTheHostDoes) {
  using sparse::Reduction;
  for (const std::uint64_t num_positions : {1, 31, 32, 33, 1024, 8191, 8192, 8193, 20'000}) {
    for (const std::size_t part : {0, 1, 3}) {
      const auto count = static_cast<std::size_t>(num_positions * part / 3);
      expect_compacts<float>(num_positions, count, DType::kF32, ValueType::kF32, Reduction::kSum);
    }
  }
  expect_compacts<float>(9000, 700, DType::kF32, ValueType::kF32, Reduction::kMax);
  expect_compacts<double>(9000, 700, DType::kF64, ValueType::kF64, Reduction::kSum);
  expect_compacts<double>(9000, 700, DType::kF64, ValueType::kF64, Reduction::kMax);
  expect_compacts<std::uint64_t>(9000, 700, DType::kU64, ValueType::kU64, Reduction::kSum);
}

TEST_P(KernelTest, CompactsHalvesIntoFloats) {
  constexpr std::size_t kPositions = 5000;
  for (const ValueType type : {ValueType::kF16, ValueType::kBF16}) {
    std::vector<std::uint16_t> dense(kPositions, 0);
    std::vector<std::uint32_t> indices;
    std::vector<float> values;
    for (std::uint32_t at = 3; at < kPositions; at += 1 + at % 17) {
      dense[at] = static_cast<std::uint16_t>(at * 13 + 1);
      indices.push_back(at);
      values.push_back(type == ValueType::kF16 ? f16_to_f32(dense[at]) : bf16_to_f32(dense[at]));
    }
    dense[0] = 0x8000;  // -0 is absent
    DeviceArray<std::uint16_t> device_dense(dense);
    DeviceArray<std::uint32_t> bitmap((kPositions + 31) / 32);
    ASSERT_EQ(mark_present({device_dense.data(), type, kPositions, false, bitmap.data()}, nullptr),
              cudaSuccess);
    const auto got = take<float>(bitmap.data(), kPositions, device_dense.data(), type, false,
                                 static_cast<std::uint32_t>(indices.size()));
    EXPECT_EQ(got.num_entries, indices.size());
    EXPECT_EQ(got.indices, indices);
    EXPECT_EQ(bytes_of(got.values.data(), got.values.size()),
              bytes_of(values.data(), values.size()));
  }
}

TEST_P(KernelTest, DecodesABitmapWithPackedValuesAndIgnoresBitsOutsideTheDomain) {
  constexpr std::uint64_t kPositions = 40'011;
  const auto indices = random_indices(6000, kPositions, 4);
  const auto values = random_values<float>(indices.size(), 5);
  std::vector<std::uint32_t> words((kPositions + 31) / 32);
  for (const std::uint32_t index : indices) words[index / 32] |= 1u << (index % 32);
  words.back() |= 0xfffff800u;  // 40,011 mod 32 = 11
  DeviceArray<std::uint32_t> bitmap(words);
  DeviceArray<float> packed(values);
  const auto got = take<float>(bitmap.data(), kPositions, packed.data(), ValueType::kF32, true,
                               static_cast<std::uint32_t>(indices.size()));
  EXPECT_EQ(got.num_entries, indices.size());
  EXPECT_EQ(got.indices, indices);
  EXPECT_EQ(got.values, values);
}

TEST_P(KernelTest, TakesNoMoreEntriesThanThereIsRoomForAndTellsHowManyThereAre) {
  constexpr std::uint64_t kPositions = 30'000;
  std::vector<std::uint32_t> words((kPositions + 31) / 32, 0xffffffffu);
  const auto values = random_values<float>(kPositions, 6);
  DeviceArray<std::uint32_t> bitmap(words);
  DeviceArray<float> dense(values);
  const auto got =
      take<float>(bitmap.data(), kPositions, dense.data(), ValueType::kF32, false, 10'000);
  EXPECT_EQ(got.num_entries, kPositions);
  for (std::uint32_t at = 0; at < 10'000; ++at) ASSERT_EQ(got.indices[at], at);
  EXPECT_EQ(got.values, std::vector<float>(values.begin(), values.begin() + 10'000));
}

TEST_P(KernelTest, SumsMoreTilesThanOneBlockHasThreads) {
  constexpr std::uint64_t kPositions = 1026 * 8192;
  std::vector<std::uint32_t> words(kPositions / 32, 0);
  std::vector<std::uint32_t> indices;
  for (std::uint64_t at = 5; at < kPositions; at += 4099) {
    indices.push_back(static_cast<std::uint32_t>(at));
    words[at / 32] |= 1u << (at % 32);
  }
  const auto values = random_values<float>(indices.size(), 7);
  DeviceArray<std::uint32_t> bitmap(words);
  DeviceArray<float> packed(values);
  const auto got = take<float>(bitmap.data(), kPositions, packed.data(), ValueType::kF32, true,
                               static_cast<std::uint32_t>(indices.size()));
  EXPECT_EQ(got.num_entries, indices.size());
  EXPECT_EQ(got.indices, indices);
  EXPECT_EQ(got.values, values);
}

}  // namespace
}  // namespace tandem::gpu_kernels
