// SPDX-License-Identifier: Apache-2.0
//
// Memory that is free in the heap leaves the process.
#include "apps/serve/heap_trim.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <vector>

namespace tandem::apps {
namespace {

constexpr std::size_t kHeapMiB = std::size_t{1} << 20;

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Touches 64 MiB in small pieces and frees them, but for the last: it keeps the heap's end there.
std::unique_ptr<std::vector<char>> leave_a_hole() {
  std::vector<std::unique_ptr<std::vector<char>>> pieces;
  for (std::size_t i = 0; i < 16 * 1024; ++i) {
    pieces.push_back(std::make_unique<std::vector<char>>(4000, 'x'));
  }
  auto last = std::move(pieces.back());
  return last;
}

TEST(HeapTrim, FreeMemoryGoesBackToTheSystem) {
  if (mallinfo2().arena == 0) GTEST_SKIP() << "a sanitizer's heap";
  const std::size_t before = resident_bytes();
  const auto end_of_heap = leave_a_hole();
  ASSERT_GT(resident_bytes(), before + 32 * kHeapMiB) << "without a trim it stays";
  const HeapTrim trim(std::chrono::milliseconds(1));
  for (int i = 0; i < 2000 && resident_bytes() > before + 16 * kHeapMiB; ++i) usleep(10'000);
  EXPECT_LT(resident_bytes(), before + 16 * kHeapMiB);
}

TEST(HeapTrim, NothingIsDoneWhileTheProcessTouchesNoNewMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's allocator touches memory of its own";
#endif
  HeapGrowth growth;
  EXPECT_TRUE(growth.has_grown());
  EXPECT_FALSE(growth.has_grown());
  {
    const std::vector<char> touched(8 * kHeapMiB, 'x');
    EXPECT_TRUE(growth.has_grown());
    EXPECT_FALSE(growth.has_grown());
  }
  EXPECT_FALSE(growth.has_grown());
  const std::vector<char> again(8 * kHeapMiB, 'x');
  EXPECT_TRUE(growth.has_grown()) << "it had gone back";
}

}  // namespace
}  // namespace tandem::apps
