// SPDX-License-Identifier: Apache-2.0
//
// Mistakes of kernels in the use of warpgroup products: each ends the program with its text, or
// gives NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "common/launch.cuh"
#include "common/wgmma.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kThreads = 128, kSharedBytes = 1024 + 3 * 64 * kSharedRowBytes;
constexpr std::uint32_t kOnes = 0x3f803f80u;  // two bf16

enum class Mistake {
  kNone,
  kNoPublish,       // of stores to shared memory
  kNotOpened,       // open_products() is missing
  kReadsTooEarly,   // accumulators before the wait
  kOverwritesB,     // before the wait
  kChangesA,        // registers of a, before the wait
  kWritesTooEarly,  // accumulators before the wait
  kNotCommitted,    // waits for a product of no group
  kNamedTooEarly,   // accumulators of a group that is still pending
  kOutside,         // an operand behind shared memory
};

// d [64, 128] = a of ones times b of ones, 16 deep: 16 everywhere.
__global__ void misuse(Mistake mistake, float* result) {
  wait_for_previous();
  unsigned char* at = dynamic_shared();
  at += (1024 - shared_address(at) % 1024) % 1024;
  auto* words = reinterpret_cast<std::uint32_t*>(at);
  for (unsigned i = threadIdx.x; i < 128 * kSharedRowBytes / 4; i += kThreads) words[i] = kOnes;
  if (mistake != Mistake::kNoPublish) publish_stores();
  __syncthreads();
  float d[64] = {};
  std::uint32_t a[4] = {kOnes, kOnes, kOnes, kOnes};
  SharedMatrix b = shared_matrix(at);
  if (mistake == Mistake::kOutside) b = advance(b, 9 * 1024);
  if (mistake != Mistake::kNotOpened) open_products();
  multiply_registers<Bfloat, Major::kDepth>(d, a, b);
  if (mistake != Mistake::kNotCommitted) commit_products();
  float early = 0.0f;
  if (mistake == Mistake::kReadsTooEarly) early = d[5];
  if (mistake == Mistake::kWritesTooEarly) d[5] = 1.0f;
  if (mistake == Mistake::kChangesA) a[2] = 0;
  if (mistake == Mistake::kOverwritesB) {
    __syncthreads();
    std::memset(at, 0, 64 * kSharedRowBytes);
    publish_stores();
    __syncthreads();
  }
  if (mistake == Mistake::kNamedTooEarly) wait_products<1>(d);
  wait_products<0>(d);
  for (int i = 0; i < 64; ++i) result[threadIdx.x * 64 + static_cast<unsigned>(i)] = d[i] + early;
}

std::vector<float> run(Mistake mistake, simt::Order order = simt::Order::kAscending) {
  simt::set_order(order);
  std::vector<float> result(kThreads * 64);
  EXPECT_EQ(launch_shared(nullptr, 1, kThreads, kSharedBytes, misuse, mistake, result.data()),
            cudaSuccess);
  return result;
}

TEST(WarpgroupProducts, OfAKernelWithoutMistakesAreRightInEveryOrder) {
  for (const auto order :
       {simt::Order::kAscending, simt::Order::kDescending, simt::Order::kShuffled}) {
    for (const float value : run(Mistake::kNone, order)) ASSERT_EQ(value, 16.0f);
  }
}

TEST(WarpgroupProducts, ThatAreReadBeforeTheyAreWaitedForAreNaN) {
  for (const auto order : {simt::Order::kAscending, simt::Order::kShuffled}) {
    EXPECT_TRUE(std::isnan(run(Mistake::kReadsTooEarly, order).front()));
  }
}

TEST(WarpgroupProducts, WhoseOperandIsOverwrittenBeforeTheyAreWaitedForAreWrong) {
  EXPECT_NE(run(Mistake::kOverwritesB).front(), 16.0f);
}

TEST(WarpgroupProducts, MistakesEndTheProgramWithASentence) {
  EXPECT_DEATH(run(Mistake::kNoPublish), "nobody has published");
  EXPECT_DEATH(run(Mistake::kNotOpened), "without open_products");
  EXPECT_DEATH(run(Mistake::kWritesTooEarly), "accumulators have changed");
  EXPECT_DEATH(run(Mistake::kChangesA), "registers of a have changed");
  EXPECT_DEATH(run(Mistake::kNotCommitted), "that no group holds");
  EXPECT_DEATH(run(Mistake::kNamedTooEarly), "whose products are in flight");
  EXPECT_DEATH(run(Mistake::kOutside), "outside the block's shared memory");
}

}  // namespace
}  // namespace tandem::gpu_kernels
