// SPDX-License-Identifier: Apache-2.0
//
// Gates, soft caps and gated sums against double-precision loops.
#include "activation/activation.h"

#include <cmath>
#include <limits>

#include "gpu_kernels/device_array.h"
#include "gpu_kernels/random_floats.h"

namespace tandem::gpu_kernels {
namespace {

double gate_of(GateFunction function, double x) {
  if (function == GateFunction::kSilu) return x / (1 + std::exp(-x));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

TEST_P(KernelTest, GatedActivationsAreThoseOfANaiveLoop) {
  for (const GateFunction function : {GateFunction::kSilu, GateFunction::kGeluTanh}) {
    for (const std::size_t count : {1, 3, 4, 1023, 4096, 9001}) {
      const auto gate = random_floats(count, 1, 4.0f), up = random_floats(count, 2);
      DeviceArray<float> device_gate(gate), device_up(up), out(count);
      ASSERT_EQ(gated_activation({static_cast<std::int64_t>(count), device_gate.data(),
                                  device_up.data(), out.data(), function},
                                 nullptr),
                cudaSuccess);
      const auto got = out.download();
      for (std::size_t i = 0; i < count; ++i) {
        const double expected = gate_of(function, gate[i]) * up[i];
        ASSERT_NEAR(got[i], expected, 2e-6 * std::fabs(expected) + 1e-7) << gate[i];
      }
    }
  }
}

TEST_P(KernelTest, GatesOfLargeValuesStayFinite) {
  const std::vector<float> gate = {-1e4f, -200.0f, -100.0f, 0.0f, 100.0f, 1e4f, -1e30f, 1e30f};
  const std::vector<float> up(gate.size(), 1.0f);
  for (const GateFunction function : {GateFunction::kSilu, GateFunction::kGeluTanh}) {
    DeviceArray<float> device_gate(gate), device_up(up);
    ASSERT_EQ(gated_activation(
                  {8, device_gate.data(), device_up.data(), device_gate.data(), function}, nullptr),
              cudaSuccess);
    const auto got = device_gate.download();  // in place
    for (std::size_t i = 0; i < gate.size(); ++i) {
      ASSERT_NEAR(got[i], std::max(gate[i], 0.0f), 1e-30) << gate[i];
    }
  }
}

TEST_P(KernelTest, SoftCapsAreThoseOfANaiveLoopAtEveryAlignment) {
  for (const std::size_t offset : {0, 1, 4}) {
    for (const std::size_t count : {2, 4, 5003}) {
      const auto x = random_floats(count + offset, 3, 60.0f);
      DeviceArray<float> device_x(x);
      const Softcap job{static_cast<std::int64_t>(count), device_x.data() + offset, 30.0f};
      ASSERT_EQ(softcap(job, nullptr), cudaSuccess);
      const auto got = device_x.download();
      for (std::size_t i = 0; i < count + offset; ++i) {
        const double expected = i < offset ? x[i] : 30.0 * std::tanh(x[i] / 30.0);
        ASSERT_NEAR(got[i], expected, 4e-7 * std::fabs(expected));
      }
    }
  }
}

TEST_P(KernelTest, GatedSumsAddTheSigmoidsShare) {
  for (const std::size_t width : {1, 7, 128, 5000}) {
    constexpr std::size_t kRows = 3;
    const auto x = random_floats(kRows * width, 4), before = random_floats(kRows * width, 5);
    const auto gate = random_floats(kRows, 6, 5.0f);
    DeviceArray<float> device_x(x), device_gate(gate), out(before);
    const GatedAdd job{kRows, static_cast<int>(width), device_x.data(), device_gate.data(),
                       out.data()};
    ASSERT_EQ(gated_add(job, nullptr), cudaSuccess);
    const auto got = out.download();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected =
          before[i] + x[i] / (1 + std::exp(-static_cast<double>(gate[i / width])));
      ASSERT_NEAR(got[i], expected, 1e-6);
    }
  }
}

TEST_P(KernelTest, ActivationsRefuseShapesOutsideTheStatedOnes) {
  DeviceArray<float> x(4);
  EXPECT_EQ(softcap({4, x.data(), 0.0f}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(softcap({4, x.data(), -1.0f}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(softcap({4, x.data(), std::numeric_limits<float>::infinity()}, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(softcap({4, x.data(), std::numeric_limits<float>::quiet_NaN()}, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(softcap({-1, x.data(), 1.0f}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(gated_activation({-1, x.data(), x.data(), x.data()}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(gated_add({1, 0, x.data(), x.data(), x.data()}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(softcap({0, nullptr, 1.0f}, nullptr), cudaSuccess);
}

}  // namespace
}  // namespace tandem::gpu_kernels
