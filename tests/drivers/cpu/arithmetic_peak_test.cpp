// SPDX-License-Identifier: Apache-2.0
//
// The product loops execute the stated number of operations, for every type; the device reports
// their speed.
#include "cpu/arithmetic_peak.h"

#include <gtest/gtest.h>

#include <string>

#include "cpu/backend.h"
#include "cpu/kernels/speed/product_loop.h"
#include "cpu/vector_targets.h"

namespace tandem::device::cpu {
namespace {

// 0.5 s + 1 goes from 0, 1, ... 11 towards 2. The sums in the lanes show the number of operations.
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

// s becomes 3 s + 3; what comes out is the sums' and a 3's exclusive or.
TEST(ArithmeticPeak, EveryProductOfShortsIsKept) {
  for (const std::string& target : vector_targets()) {
    force_vector_target(target);
    const ProductLoop loop = int16_product_loop();
    for (const int iterations : {0, 1, 5, 40}) {
      std::uint16_t all = 3;
      for (unsigned start = 0; start < 12; ++start) {
        unsigned sum = start;
        for (int i = 0; i < iterations; ++i) sum = (sum * 3 + 3) & 0xffff;
        all = static_cast<std::uint16_t>(all ^ sum);
      }
      EXPECT_EQ(loop.run(static_cast<std::size_t>(iterations)), static_cast<std::int16_t>(all))
          << target << ", " << iterations;
    }
  }
  force_vector_target({});
}

TEST(ArithmeticPeak, EveryProductOfBytesIsAdded) {
  const auto loops = int8_dot_product_loops();
  if (loops.empty()) GTEST_SKIP() << "no dot product instructions used on this processor";
  for (const ProductLoop& loop : loops) {
    const double products = loop.ops_per_iteration / 2;
    EXPECT_EQ(loop.run(0), 0);
    EXPECT_EQ(loop.run(1), 9 * products);
    EXPECT_EQ(loop.run(10), 90 * products);
  }
}

TEST(ArithmeticPeak, EveryProductOfBfloatsIsAdded) {
  const auto loops = bf16_dot_product_loops();
  if (loops.empty()) GTEST_SKIP() << "no bfloat16 instructions used on this processor";
  for (const ProductLoop& loop : loops) {
    const double products = loop.ops_per_iteration / 2;
    EXPECT_EQ(loop.run(0), 0);
    EXPECT_EQ(loop.run(1), products * 0x1p-14);
    EXPECT_EQ(loop.run(64), products * 0x1p-8);
  }
}

TEST(ArithmeticPeak, EveryTypeHasAPeak) {
  const ThreadPlan plan = Team(1).plan();
  const PeakOps peak = peak_ops(plan);
  EXPECT_GT(peak.f32, 0);
  EXPECT_GT(peak.bf16, 0);
  EXPECT_GT(peak.int8, 0);
  EXPECT_EQ(peak_ops(plan).f32, peak.f32);  // kept
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
