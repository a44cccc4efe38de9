// SPDX-License-Identifier: Apache-2.0
//
// Products of warpgroups (on the host: of their twin) against naive loops.
#include <random>

#include "gpu_kernels/common/wgmma_probe.h"
#include "gpu_kernels/device_array.h"
#include "tensor/dtype.h"

namespace tandem::gpu_kernels {
namespace {

constexpr std::size_t kRows = 128, kDepth = 64;

float widen(ProbeType type, std::uint16_t bits) {
  return type == ProbeType::kHalf ? f16_to_f32(bits) : bf16_to_f32(bits);
}

std::vector<std::uint16_t> random_matrix(ProbeType type, std::size_t size, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> values(size);
  for (std::uint16_t& value : values) {
    value = type == ProbeType::kHalf ? f32_to_f16(normal(random)) : f32_to_bf16(normal(random));
  }
  return values;
}

// False where the device has no such products.
bool expect_product(const GroupProbe& probe) {
  std::mt19937 random{1};
  const auto columns = static_cast<std::size_t>(probe.columns);
  const auto a = random_matrix(probe.type, kRows * kDepth, random);
  const auto b = random_matrix(probe.type, kDepth * columns, random);
  std::vector<float> c(kRows * columns);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<float>(i % 256) / 16.0f - 4.0f;
  DeviceArray<std::uint16_t> device_a(a), device_b(b);
  DeviceArray<float> device_c(c);
  const cudaError_t error =
      probe_group_product(probe, device_a.data(), device_b.data(), device_c.data());
  if (error == cudaErrorNoKernelImageForDevice) return false;
  EXPECT_EQ(error, cudaSuccess);
  const auto got = device_c.download();
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      double sum = probe.adds ? c[row * columns + column] : 0.0;
      for (std::size_t k = 0; k < kDepth; ++k) {
        sum += static_cast<double>(widen(probe.type, a[row * kDepth + k])) *
               static_cast<double>(widen(probe.type, b[k * columns + column]));
      }
      EXPECT_NEAR(got[row * columns + column], sum, 1e-4) << row << ", " << column;
    }
    if (testing::Test::HasFailure()) break;
  }
  return true;
}

TEST_P(KernelTest, WarpgroupProductsOfEveryShapeAndLayoutAddWhatANaiveLoopAdds) {
  for (const ProbeType type : {ProbeType::kHalf, ProbeType::kBfloat}) {
    for (const bool b_by_columns : {false, true}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(type) << ", b " << b_by_columns);
      for (const GroupProbe& probe :
           {GroupProbe{type, 128, false, b_by_columns},
            GroupProbe{type, 128, false, b_by_columns, false},
            GroupProbe{type, 128, true, b_by_columns}, GroupProbe{type, 64, true, b_by_columns}}) {
        if (expect_product(probe)) continue;
        GTEST_SKIP() << "products of warpgroups need compute capability 9.0";
      }
    }
  }
}

}  // namespace
}  // namespace tandem::gpu_kernels
