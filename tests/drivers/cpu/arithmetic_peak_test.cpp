// SPDX-License-Identifier: Apache-2.0
//
// The product loops run what they say, in every type, and the device tells their speed.
#include "cpu/arithmetic_peak.h"

#include <gtest/gtest.h>

#include <string>

#include "cpu/backend.h"
#include "cpu/kernels/product_loop.h"
#include "cpu/vector_targets.h"

namespace tandem::device::cpu {
namespace {

// 0.5 s + 1 goes from 0, 1, ... 11 towards 2; with every sum counted, the lanes tell the
// operations.
TEST(ArithmeticPeak, AnIterationOfFloatsIsAsManyOperationsAsItSays) {
  for (const std::string& target : vector_targets()) {
    force_vector_target(target);
    const ProductLoop loop = f32_product_loop();
    const double sums = loop.ops_per_iteration / 2;
    EXPECT_NEAR(loop.run(0), 5.5 * sums, 1e-3) << target;
    EXPECT_NEAR(loop.run(1), 3.75 * sums, 1e-3) << target;
    EXPECT_NEAR(loop.run(100), 2 * sums, 1e-3) << target;
  }
  force_vector_target({});
}

TEST(ArithmeticPeak, EveryProductOfBytesIsAdded) {
  const ProductLoop loop = int8_dot_product_loop();
  if (loop.run == nullptr) GTEST_SKIP() << "no dot product instructions used on this processor";
  const double products = loop.ops_per_iteration / 2;
  EXPECT_EQ(loop.run(0), 0);
  EXPECT_EQ(loop.run(1), 9 * products);
  EXPECT_EQ(loop.run(10), 90 * products);
}

TEST(ArithmeticPeak, EveryProductOfBfloatsIsAdded) {
  const ProductLoop loop = bf16_dot_product_loop();
  if (loop.run == nullptr) GTEST_SKIP() << "no bfloat16 instructions used on this processor";
  const double products = loop.ops_per_iteration / 2;
  EXPECT_EQ(loop.run(0), 0);
  EXPECT_EQ(loop.run(1), products * 0x1p-14);
  EXPECT_EQ(loop.run(64), products * 0x1p-8);
}

TEST(ArithmeticPeak, EveryTypeHasAPeak) {
  const PeakOps peak = peak_ops(1);
  EXPECT_GT(peak.f32, 0);
  EXPECT_GT(peak.bf16, 0);
  EXPECT_GT(peak.int8, 0);
}

TEST(ArithmeticPeak, TheDeviceTellsItsSpeedOnceAndNow) {
  DeviceOptions options;
  options.num_threads = 1;
  const auto device = cpu_backend().open(0, options);
  EXPECT_GT(device->info().peak_ops_per_s.int8, 0);
  const DeviceSpeed now = device->speed_now();
  EXPECT_GT(now.memory_bandwidth_bytes_per_s, 0);
  EXPECT_GT(now.peak_ops_per_s.f32, 0);
}

}  // namespace
}  // namespace tandem::device::cpu
