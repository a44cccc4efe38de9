// SPDX-License-Identifier: Apache-2.0
//
// The pool's ranges against a list of the taken ones, and full memory.
#include "cuda/memory/memory_pool.h"

#include <gmock/gmock.h>

#include <random>

#include "common/error.h"
#include "gpu_kernels/simt/faults.h"

namespace tandem::cuda {
namespace {

class MemoryPoolTest : public testing::Test {
 protected:
  void SetUp() override { simt::clear_faults(); }
  void TearDown() override { simt::clear_faults(); }

  static std::size_t free_bytes() {
    std::size_t free_bytes = 0, total_bytes = 0;
    EXPECT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
    return free_bytes;
  }

  Health health_{"cuda:0"};
};

TEST_F(MemoryPoolTest, RangesAreAlignedApartAndReusable) {
  std::mt19937 random(3);
  const std::size_t before = free_bytes();
  {
    MemoryPool pool(health_, Memory::kDevice);
    std::vector<std::pair<std::byte*, std::size_t>> taken;
    for (int turn = 0; turn < 3000; ++turn) {
      if (!taken.empty() && random() % 2 == 0) {
        const std::size_t which = random() % taken.size();
        pool.give(taken[which].first);
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(which));
        continue;
      }
      const std::size_t bytes = random() % (random() % 20 == 0 ? 40'000'000 : 100'000);
      std::byte* range = pool.take(bytes, Purpose::kWeights);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(range) % 256, 0u);
      EXPECT_TRUE(pool.holds(range, bytes));
      for (const auto& [other, size] : taken) {
        EXPECT_TRUE(range + bytes <= other || other + size <= range);
      }
      taken.emplace_back(range, bytes);
      while (taken.size() > 10) {
        pool.give(taken.front().first);
        taken.erase(taken.begin());
      }
    }
    for (const auto& [range, bytes] : taken) pool.give(range);
    EXPECT_GE(free_bytes() + (std::size_t{64} << 20), before);  // one empty block is left
  }
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(MemoryPoolTest, KnowsWhatItHolds) {
  MemoryPool pool(health_, Memory::kPinned);
  const PoolRange range(pool, 1000, Purpose::kStaging);
  float elsewhere[4] = {};
  EXPECT_TRUE(pool.holds(range.data() + 10, 900));
  EXPECT_FALSE(pool.holds(elsewhere, sizeof(elsewhere)));
  EXPECT_FALSE(pool.holds(range.data(), std::size_t{1} << 40));
}

TEST_F(MemoryPoolTest, FullMemoryIsAnErrorThatChangesNothing) {
  MemoryPool pool(health_, Memory::kDevice);
  const PoolRange kept(pool, 1000, Purpose::kWeights);
  try {
    pool.take(std::size_t{3} << 30, Purpose::kActivations);
    FAIL() << "taken";
  } catch (const DeviceError& error) {
    FAIL() << error.what();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("cuda:0: activations need 3.00 GiB"));
    EXPECT_THAT(error.what(), testing::HasSubstr("lower --max-step-tokens"));
  }
  EXPECT_FALSE(health_.lost());
  EXPECT_NE(pool.take(1000, Purpose::kWeights), nullptr);
}

TEST_F(MemoryPoolTest, ADriverThatRefusesABlockIsAskedForTheBareNeed) {
  MemoryPool pool(health_, Memory::kDevice);
  simt::set_faults({.out_of_memory_at = 1});
  EXPECT_NE(pool.take(1000, Purpose::kWeights), nullptr);
  EXPECT_EQ(simt::allocations(), 2);
}

TEST_F(MemoryPoolTest, ALostDeviceIsADeviceErrorAndGivesNothingBack) {
  MemoryPool pool(health_, Memory::kDevice);
  std::byte* range = pool.take(1000, Purpose::kWeights);
  health_.lose("for the test");
  EXPECT_THROW(pool.take(1000, Purpose::kWeights), DeviceError);
  pool.give(range);
}

}  // namespace
}  // namespace tandem::cuda
