// SPDX-License-Identifier: Apache-2.0
//
// Fragments, products and parts of common/mma.cuh (on the host: of its twin) against naive loops.
#include <cmath>
#include <limits>
#include <random>

#include "gpu_kernels/common/mma_probe.h"
#include "gpu_kernels/device_array.h"
#include "tensor/dtype.h"

namespace tandem::gpu_kernels {
namespace {

std::uint16_t narrow(ProbeType type, float value) {
  return type == ProbeType::kHalf ? f32_to_f16(value) : f32_to_bf16(value);
}
float widen(ProbeType type, std::uint32_t bits) {
  const auto low = static_cast<std::uint16_t>(bits);
  return type == ProbeType::kHalf ? f16_to_f32(low) : bf16_to_f32(low);
}

std::vector<std::uint16_t> random_matrix(ProbeType type, std::size_t size, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> values(size);
  for (std::uint16_t& value : values) value = narrow(type, normal(random));
  return values;
}

TEST_P(KernelTest, WarpProductsAddWhatANaiveLoopAdds) {
  std::mt19937 random{1};
  for (const ProbeType type : {ProbeType::kHalf, ProbeType::kBfloat}) {
    const auto a = random_matrix(type, 256, random), b = random_matrix(type, 128, random);
    std::vector<float> c(128);
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<float>(i) / 16.0f - 4.0f;
    DeviceArray<std::uint16_t> device_a(a), device_b(b);
    DeviceArray<float> device_c(c);
    ASSERT_EQ(probe_product(type, device_a.data(), device_b.data(), device_c.data()), cudaSuccess);
    const auto got = device_c.download();
    for (std::size_t row = 0; row < 16; ++row) {
      for (std::size_t column = 0; column < 8; ++column) {
        double sum = c[row * 8 + column];
        for (std::size_t i = 0; i < 16; ++i) {
          sum += static_cast<double>(widen(type, a[row * 16 + i])) *
                 static_cast<double>(widen(type, b[column * 16 + i]));
        }
        ASSERT_NEAR(got[row * 8 + column], sum, 1e-5) << row << ", " << column;
      }
    }
  }
}

TEST_P(KernelTest, WarpProductsOfBytesAreExact) {
  std::mt19937 random{2};
  std::uniform_int_distribution<int> any(-128, 127);
  std::vector<std::int8_t> a(512), b(256);
  for (std::int8_t& value : a) value = static_cast<std::int8_t>(any(random));
  for (std::int8_t& value : b) value = static_cast<std::int8_t>(any(random));
  const std::vector<std::int32_t> c(128, 1000);
  DeviceArray<std::int8_t> device_a(a), device_b(b);
  DeviceArray<std::int32_t> device_c(c);
  ASSERT_EQ(probe_byte_product(device_a.data(), device_b.data(), device_c.data()), cudaSuccess);
  const auto got = device_c.download();
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t column = 0; column < 8; ++column) {
      int sum = 1000;
      for (std::size_t i = 0; i < 32; ++i) sum += a[row * 32 + i] * b[column * 32 + i];
      ASSERT_EQ(got[row * 8 + column], sum) << row << ", " << column;
    }
  }
}

TEST_P(KernelTest, MatricesAreLoadedAsFragmentsOrTheirTransposes) {
  std::vector<std::uint16_t> tile(256);
  for (std::size_t i = 0; i < tile.size(); ++i) tile[i] = static_cast<std::uint16_t>(i * 257);
  DeviceArray<std::uint16_t> from(tile);
  for (const bool transposed : {false, true}) {
    DeviceArray<std::uint32_t> to(std::size_t{128});
    ASSERT_EQ(probe_load(from.data(), transposed, to.data()), cudaSuccess);
    const auto got = to.download();
    for (std::size_t lane = 0; lane < 32; ++lane) {
      for (std::size_t matrix = 0; matrix < 4; ++matrix) {
        const auto at = [&](std::size_t row, std::size_t column) {
          if (transposed) std::swap(row, column);
          return tile[(matrix % 2 * 8 + row) * 16 + matrix / 2 * 8 + column];
        };
        const std::size_t row = lane / 4, column = lane % 4 * 2;
        const std::uint32_t want = at(row, column) | std::uint32_t{at(row, column + 1)} << 16;
        ASSERT_EQ(got[lane * 4 + matrix], want) << "lane " << lane << ", matrix " << matrix;
      }
    }
  }
}

TEST_P(KernelTest, PartsOfAValueAddUpToItWithinTheStatedError) {
  std::vector<float> values{0.0f, -0.0f, 1.0f, -1.0f, 65504.0f, 0x1.ffcp-15f, 1e-7f, -3e-5f};
  std::mt19937 random{3};
  std::normal_distribution<float> normal;
  while (values.size() < 64) values.push_back(normal(random));
  for (const ProbeType type : {ProbeType::kHalf, ProbeType::kBfloat}) {
    DeviceArray<float> device_values(values);
    DeviceArray<std::uint32_t> parts(values.size());
    ASSERT_EQ(probe_split(type, device_values.data(), parts.data()), cudaSuccess);
    const auto got = parts.download();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint32_t high = got[i / 2 * 2] >> (i % 2 * 16);
      const std::uint32_t low = got[i / 2 * 2 + 1] >> (i % 2 * 16);
      ASSERT_EQ(high & 0xffffu, narrow(type, values[i])) << values[i];
      const float bound = type == ProbeType::kHalf
                              ? std::max(std::fabs(values[i]) * 0x1p-23f, 0x1p-25f)
                              : std::fabs(values[i]) * 0x1p-17f;
      ASSERT_LE(std::fabs(widen(type, high) + widen(type, low) - values[i]), bound) << values[i];
    }
  }
}

}  // namespace
}  // namespace tandem::gpu_kernels
