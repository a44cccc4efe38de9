// SPDX-License-Identifier: Apache-2.0
//
// Scatter-add in rank order against merge() of the collectives library, and coo32 bodies read back.
#include "sparse/scatter_add.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "collectives/codec/codec.h"
#include "gpu_kernels/device_array.h"
#include "gpu_kernels/sparse/random_entries.h"
#include "sparse/bitmap_entries.h"
#include "tensor/sparse/merge.h"

namespace tandem::gpu_kernels {
namespace {

using sparse::Reduction;

struct Totals {
  explicit Totals(std::uint64_t positions, std::size_t value_bytes)
      : num_positions(positions),
        dense(positions * value_bytes),
        present(std::vector<std::uint32_t>((positions + 31) / 32, 0)),
        faults(std::vector<std::uint32_t>(1, 0)) {}

  template <typename T>
  cudaError_t add(DeviceArray<std::uint32_t>& positions, DeviceArray<T>& values,
                  std::size_t num_entries, ValueType type, bool maximum) {
    ScatterAdd job;
    job.positions = positions.data();
    job.values = values.data();
    job.type = type;
    job.num_entries = static_cast<std::uint32_t>(num_entries);
    job.maximum = maximum;
    job.num_positions = num_positions;
    job.dense = dense.data();
    job.present = present.data();
    job.faults = faults.data();
    return scatter_add(job, nullptr);
  }

  std::uint64_t num_positions;
  DeviceArray<unsigned char> dense;  // a pattern, never zeros
  DeviceArray<std::uint32_t> present;
  DeviceArray<std::uint32_t> faults;
};

template <typename T>
void expect_same_as_merge(DType type, ValueType value, Reduction reduction) {
  constexpr std::uint64_t kPositions = 7001;
  Totals totals(kPositions, sizeof(T));
  std::vector<sparse::SparseVector> sources;
  for (unsigned source = 0; source < 5; ++source) {
    const std::size_t count = source == 2 ? 0 : 1500 + 700 * source;
    const auto indices = random_indices(count, kPositions, source);
    auto values = random_values<T>(count, 100 + source);
    if constexpr (std::is_same_v<T, float>) {
      for (std::size_t at = 0; at < count; at += 10) values[at] = -0.0f;
    }
    sources.push_back(sparse_vector(kPositions, type, indices, values));
    DeviceArray<std::uint32_t> device_positions(indices);
    DeviceArray<T> device_values(values);
    ASSERT_EQ(
        totals.add(device_positions, device_values, count, value, reduction == Reduction::kMax),
        cudaSuccess);
    totals.faults.download();
  }
  const auto expected = merge(sources, reduction);
  const auto present = totals.present.download();
  const auto dense = totals.dense.download();
  EXPECT_EQ(totals.faults.download().front(), 0u);
  std::size_t entry = 0;
  for (std::uint32_t position = 0; position < kPositions; ++position) {
    const bool is_present = (present[position / 32] >> (position % 32)) & 1u;
    const bool is_expected = entry < expected.num_entries() && expected.index_at(entry) == position;
    ASSERT_EQ(is_present, is_expected) << position;
    if (!is_expected) continue;
    ASSERT_EQ(bytes_of(dense.data() + position * sizeof(T), sizeof(T)),
              bytes_of(expected.values<T>().data() + entry, 1))
        << position;
    ++entry;
  }
  EXPECT_EQ(entry, expected.num_entries());
}

TEST_P(KernelTest, AddsSourcesInRankOrderToTheBitsOfMerge) {
  expect_same_as_merge<float>(DType::kF32, ValueType::kF32, Reduction::kSum);
  expect_same_as_merge<double>(DType::kF64, ValueType::kF64, Reduction::kSum);
  expect_same_as_merge<std::uint64_t>(DType::kU64, ValueType::kU64, Reduction::kSum);
}

TEST_P(KernelTest, TakesTheMaximumAsMergeDoes) {
  expect_same_as_merge<float>(DType::kF32, ValueType::kF32, Reduction::kMax);
  expect_same_as_merge<double>(DType::kF64, ValueType::kF64, Reduction::kMax);
  expect_same_as_merge<std::uint64_t>(DType::kU64, ValueType::kU64, Reduction::kMax);
}

TEST_P(KernelTest, ANotANumberStaysTheMaximum) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Totals totals(64, sizeof(float));
  DeviceArray<std::uint32_t> positions(std::vector<std::uint32_t>{5, 40});
  for (const auto& values : {std::vector<float>{3, kNan}, std::vector<float>{kNan, 3}}) {
    DeviceArray<float> device_values(values);
    ASSERT_EQ(totals.add(positions, device_values, 2, ValueType::kF32, true), cudaSuccess);
    totals.faults.download();
  }
  const auto dense = totals.dense.download();
  for (const std::size_t at : {5, 40}) {
    float got;
    std::memcpy(&got, dense.data() + at * 4, 4);
    EXPECT_TRUE(std::isnan(got)) << at;
  }
}

TEST_P(KernelTest, AddsHalvesInSinglePrecision) {
  for (const ValueType type : {ValueType::kF16, ValueType::kBF16}) {
    Totals totals(64, sizeof(float));
    std::vector<float> expected(3, 0.0f);
    for (unsigned source = 0; source < 4; ++source) {
      const std::vector<float> values = {1.0f + static_cast<float>(source) / 64, -3.25f,
                                         0.0078125f};
      std::vector<std::uint16_t> halves;
      for (std::size_t at = 0; at < 3; ++at) {
        halves.push_back(type == ValueType::kF16 ? f32_to_f16(values[at])
                                                 : f32_to_bf16(values[at]));
        expected[at] += type == ValueType::kF16 ? f16_to_f32(halves[at]) : bf16_to_f32(halves[at]);
      }
      DeviceArray<std::uint32_t> positions(std::vector<std::uint32_t>{0, 31, 63});
      DeviceArray<std::uint16_t> device_halves(halves);
      ASSERT_EQ(totals.add(positions, device_halves, 3, type, false), cudaSuccess);
      totals.faults.download();
    }
    const auto dense = totals.dense.download();
    const std::uint32_t at[] = {0, 31, 63};
    for (int value = 0; value < 3; ++value) {
      float got;
      std::memcpy(&got, dense.data() + at[value] * 4, 4);
      EXPECT_EQ(got, expected[static_cast<std::size_t>(value)]);
    }
    EXPECT_EQ(totals.present.download(), (std::vector<std::uint32_t>{0x80000001u, 0x80000000u}));
  }
}

TEST_P(KernelTest, SkipsPositionsOutOfRangeAndSaysSo) {
  Totals totals(100, sizeof(float));
  DeviceArray<std::uint32_t> positions(std::vector<std::uint32_t>{5, 100, 0xffffffffu});
  DeviceArray<float> values(std::vector<float>{1, 2, 3});
  ASSERT_EQ(totals.add(positions, values, 3, ValueType::kF32, false), cudaSuccess);
  EXPECT_NE(totals.faults.download().front(), 0u);
  totals.dense.download();
  EXPECT_EQ(totals.present.download(), (std::vector<std::uint32_t>{32, 0, 0, 0}));
}

struct DecodedCoo {
  std::vector<std::uint32_t> indices;
  std::vector<unsigned char> values;
  std::uint32_t faults;
};

template <typename T>
DecodedCoo read_back(const std::vector<unsigned char>& body, ValueType type, std::size_t count,
                     std::uint64_t num_positions) {
  DeviceArray<unsigned char> device_body(body);
  DeviceArray<std::uint32_t> indices(count), faults(std::vector<std::uint32_t>(1, 0));
  DeviceArray<T> values(count);
  const DecodeCoo job{device_body.data(), type,           static_cast<std::uint32_t>(count),
                      num_positions,      indices.data(), values.data(),
                      faults.data()};
  EXPECT_EQ(decode_coo(job, nullptr), cudaSuccess);
  const auto got = values.download();
  return {indices.download(), bytes_of(got.data(), got.size()), faults.download().front()};
}

TEST_P(KernelTest, ReadsCoo32BodiesOfEveryWireType) {
  constexpr std::uint64_t kPositions = 100'000;
  const auto indices = random_indices(5001, kPositions, 1);
  for (const ValueType wire : {ValueType::kF32, ValueType::kF16, ValueType::kBF16}) {
    auto vector =
        sparse_vector(kPositions, DType::kF32, indices, random_values<float>(indices.size(), 2));
    transport::ByteBuffer message;
    encode(vector, collectives::Codec::kCoo32, dtype_of(wire), Reduction::kSum, message);
    sparse::round_to_wire(vector, dtype_of(wire));
    const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
    const auto got =
        read_back<float>({bytes + 16, bytes + message.size()}, wire, indices.size(), kPositions);
    EXPECT_EQ(got.indices, indices);
    EXPECT_EQ(got.values, bytes_of(vector.values<float>().data(), indices.size()));
    EXPECT_EQ(got.faults, 0u);
  }
  const auto vector = sparse_vector(kPositions, DType::kU64, indices,
                                    random_values<std::uint64_t>(indices.size(), 3));
  transport::ByteBuffer message;
  encode(vector, collectives::Codec::kCoo32, DType::kU64, Reduction::kSum, message);
  const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
  const auto got = read_back<std::uint64_t>({bytes + 16, bytes + message.size()}, ValueType::kU64,
                                            indices.size(), kPositions);
  EXPECT_EQ(got.values, bytes_of(vector.values<std::uint64_t>().data(), indices.size()));
  EXPECT_EQ(got.faults, 0u);
}

TEST_P(KernelTest, ReportsCoo32BodiesThatDoNotAscendOrLeaveTheDomain) {
  const auto body = [](std::vector<std::uint32_t> words) {
    words.resize(2 * words.size());
    return bytes_of(words.data(), words.size());
  };
  EXPECT_EQ(read_back<float>(body({1, 2, 9}), ValueType::kF32, 3, 10).faults, 0u);
  EXPECT_NE(read_back<float>(body({1, 1, 9}), ValueType::kF32, 3, 10).faults, 0u);
  EXPECT_NE(read_back<float>(body({2, 1, 9}), ValueType::kF32, 3, 10).faults, 0u);
  EXPECT_NE(read_back<float>(body({1, 2, 10}), ValueType::kF32, 3, 10).faults, 0u);
}

}  // namespace
}  // namespace tandem::gpu_kernels
