// SPDX-License-Identifier: Apache-2.0
//
// Rows of tables of every stored type against tensor/dtype.h, bit for bit, and gathered rows.
#include "embedding/embedding.h"

#include <cmath>
#include <cstring>

#include "gpu_kernels/device_array.h"
#include "gpu_kernels/random_floats.h"
#include "tensor/dtype.h"

namespace tandem::gpu_kernels {
namespace {

struct TypePair {
  StoredType stored;
  DType dtype;
};
constexpr TypePair kTypes[] = {
    {StoredType::kF32, DType::kF32},   {StoredType::kF16, DType::kF16},
    {StoredType::kBF16, DType::kBF16}, {StoredType::kE4M3, DType::kF8E4M3},
    {StoredType::kQ8_0, DType::kQ8_0}, {StoredType::kQ4_0, DType::kQ4_0},
    {StoredType::kQ4_1, DType::kQ4_1}, {StoredType::kQ5_0, DType::kQ5_0},
    {StoredType::kQ5_1, DType::kQ5_1}, {StoredType::kIQ4_NL, DType::kIQ4_NL},
    {StoredType::kQ4_K, DType::kQ4_K}, {StoredType::kQ5_K, DType::kQ5_K},
    {StoredType::kQ6_K, DType::kQ6_K},
};

// Random bytes, with every f16 scale a random finite number.
std::vector<unsigned char> random_table(const TypePair& type, std::size_t rows, std::size_t width) {
  std::mt19937 random(static_cast<unsigned>(type.dtype));
  const std::size_t bytes = rows * dtype_row_bytes(type.dtype, width);
  std::vector<unsigned char> table(bytes);
  for (unsigned char& byte : table) byte = static_cast<unsigned char>(random());
  const auto put = [&](std::size_t at, std::uint16_t bits) { std::memcpy(&table[at], &bits, 2); };
  std::normal_distribution<float> normal;
  const std::size_t block = dtype_block_bytes(type.dtype);
  if (type.dtype == DType::kF32) {
    for (std::size_t at = 0; at < bytes; at += 4) {
      const float value = normal(random);
      std::memcpy(&table[at], &value, 4);
    }
  } else if (type.dtype == DType::kF8E4M3) {
    for (unsigned char& byte : table) byte = static_cast<unsigned char>(byte % 127);
  } else if (dtype_block_values(type.dtype) == 1) {
    for (std::size_t at = 0; at < bytes; at += 2) {
      const float value = normal(random);
      put(at, type.dtype == DType::kF16 ? f32_to_f16(value) : f32_to_bf16(value));
    }
  } else {
    for (std::size_t at = 0; at < bytes; at += block) {
      const bool has_scale_last = type.dtype == DType::kQ6_K;
      put(has_scale_last ? at + block - 2 : at, f32_to_f16(normal(random)));
      if (!has_scale_last && block % 4 == 0) put(at + 2, f32_to_f16(normal(random)));  // the min
    }
  }
  return table;
}

TEST_P(KernelTest, EmbeddedRowsAreTheHostsDequantisationOfEveryType) {
  constexpr std::size_t kTableRows = 7;
  const std::vector<std::int32_t> ids = {3, 0, 6, 3};
  for (const TypePair& type : kTypes) {
    for (const std::size_t width : {std::size_t{256}, std::size_t{1280}}) {
      SCOPED_TRACE(testing::Message() << dtype_name(type.dtype) << ", width " << width);
      ASSERT_EQ(row_bytes(type.stored, width), dtype_row_bytes(type.dtype, width));
      const auto table = random_table(type, kTableRows, width);
      DeviceArray<unsigned char> device_table(table);
      DeviceArray<std::int32_t> device_ids(ids);
      DeviceArray<float> out(ids.size() * width);
      const float scale = width == 256 ? 1.0f : 3.7f;
      const EmbedRows job{device_table.data(),
                          type.stored,
                          kTableRows,
                          static_cast<int>(width),
                          static_cast<std::int64_t>(ids.size()),
                          device_ids.data(),
                          scale,
                          out.data()};
      ASSERT_EQ(embed_rows(job, nullptr), cudaSuccess);
      const auto got = out.download();
      std::vector<float> row(width);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto* from = reinterpret_cast<const std::byte*>(table.data()) +
                           static_cast<std::size_t>(ids[i]) * dtype_row_bytes(type.dtype, width);
        dequantize_row(type.dtype, from, row.data(), width);
        for (std::size_t at = 0; at < width; ++at) {
          const float expected = scale == 1.0f ? row[at] : row[at] * scale;
          ASSERT_EQ(bits_of(got[i * width + at]), bits_of(expected)) << "row " << i << ", " << at;
        }
      }
    }
  }
}

TEST_P(KernelTest, EmbeddedRowsOfFloatsMayHaveAnyWidth) {
  const std::vector<float> table = random_floats(3 * 37, 5);
  DeviceArray<float> device_table(table);
  DeviceArray<std::int32_t> ids(std::vector<std::int32_t>{2, 1});
  DeviceArray<float> out(2 * 37);
  const EmbedRows job{device_table.data(), StoredType::kF32, 3, 37, 2, ids.data(), 2.0f,
                      out.data()};
  ASSERT_EQ(embed_rows(job, nullptr), cudaSuccess);
  const auto got = out.download();
  for (std::size_t at = 0; at < 37; ++at) {
    ASSERT_EQ(got[at], 2 * table[2 * 37 + at]);
    ASSERT_EQ(got[37 + at], 2 * table[37 + at]);
  }
}

TEST_P(KernelTest, IdsOutsideTheTableBecomeRowsOfNaN) {
  const std::vector<float> table = random_floats(2 * 64, 6);
  DeviceArray<float> device_table(table);
  DeviceArray<std::int32_t> ids(std::vector<std::int32_t>{2, 1, -1});
  DeviceArray<float> out(3 * 64), gathered(3 * 64);
  const EmbedRows job{device_table.data(), StoredType::kF32, 2, 64, 3, ids.data(), 1.0f,
                      out.data()};
  ASSERT_EQ(embed_rows(job, nullptr), cudaSuccess);
  const GatherRows gather{2, device_table.data(), 64, 3, ids.data(), gathered.data()};
  ASSERT_EQ(gather_rows(gather, nullptr), cudaSuccess);
  for (const auto& got : {out.download(), gathered.download()}) {
    for (std::size_t at = 0; at < 64; ++at) {
      ASSERT_TRUE(std::isnan(got[at]) && std::isnan(got[128 + at]));
      ASSERT_EQ(got[64 + at], table[64 + at]);
    }
  }
}

TEST_P(KernelTest, GatheredRowsAreTheRowsPicked) {
  for (const std::size_t width : {1, 5, 64, 516}) {
    const std::vector<float> x = random_floats(9 * width, 7);
    const std::vector<std::int32_t> picks = {8, 0, 4, 4, 1};
    DeviceArray<float> device_x(x), out(picks.size() * width);
    DeviceArray<std::int32_t> device_picks(picks);
    const GatherRows job{9, device_x.data(),     static_cast<int>(width),
                         5, device_picks.data(), out.data()};
    ASSERT_EQ(gather_rows(job, nullptr), cudaSuccess);
    const auto got = out.download();
    for (std::size_t i = 0; i < picks.size(); ++i) {
      for (std::size_t at = 0; at < width; ++at) {
        ASSERT_EQ(got[i * width + at], x[static_cast<std::size_t>(picks[i]) * width + at]);
      }
    }
  }
}

TEST_P(KernelTest, EmbeddingRefusesShapesOutsideTheStatedOnes) {
  DeviceArray<float> memory(512);
  DeviceArray<std::int32_t> ids(std::vector<std::int32_t>{0});
  EmbedRows job{memory.data(), StoredType::kQ4_K, 1, 256, 1, ids.data(), 1.0f, memory.data()};
  job.width = 128;
  EXPECT_EQ(embed_rows(job, nullptr), cudaErrorInvalidValue);
  job.width = 256;
  job.rows = -1;
  EXPECT_EQ(embed_rows(job, nullptr), cudaErrorInvalidValue);
  job.rows = 1;
  job.table = memory.data() + 1;
  EXPECT_EQ(embed_rows(job, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(gather_rows({1, memory.data(), 0, 1, ids.data(), memory.data()}, nullptr),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
