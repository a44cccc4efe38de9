// SPDX-License-Identifier: Apache-2.0
//
// Stacks that are made ready before a process needs them.
#include "fpga_hls/runtime/stack_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

namespace tandem::hls_runtime {
namespace {

std::vector<void*> prepared;

void note_stack(void* low, void* top) {
  EXPECT_EQ(static_cast<char*>(top) - static_cast<char*>(low), static_cast<ptrdiff_t>(kStackBytes));
  prepared.push_back(top);
}

bool is_resident(char* page) {
  unsigned char resident = 0;
  EXPECT_EQ(mincore(page, 1, &resident), 0);
  return (resident & 1) != 0;
}

TEST(StackPool, WarmStacksAreTakenFirstAndAreClean) {
  prepared.clear();
  StackPool pool;
  pool.warm(2, note_stack);
  ASSERT_EQ(prepared.size(), 2u);
  std::vector<Stack> taken = {pool.take(), pool.take(), pool.take()};
  EXPECT_EQ(taken[0].top(), prepared[1]);
  EXPECT_EQ(taken[1].top(), prepared[0]);
  EXPECT_TRUE(taken[0].is_clean);
  EXPECT_TRUE(taken[1].is_clean);
  EXPECT_FALSE(taken[2].is_clean) << "a new one";
  for (const Stack& stack : taken) pool.give_back(stack);
}

TEST(StackPool, WarmStacksHaveThePagesOfTheirFirstFrames) {
  StackPool pool;
  pool.warm(1, nullptr);
  const Stack stack = pool.take();
  EXPECT_TRUE(is_resident(stack.top() - 4096));
  EXPECT_TRUE(is_resident(stack.top() - kWarmBytes));
  EXPECT_FALSE(is_resident(stack.top() - kWarmBytes - 4096));
  pool.give_back(stack);
}

}  // namespace
}  // namespace tandem::hls_runtime
