// SPDX-License-Identifier: Apache-2.0
//
// Memory bound to the node that this process runs on stays usable, and the system says that it is
// bound.
#include "common/memory_binding.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "common/processors.h"
#include "support/memory_policy.h"

namespace tandem {
namespace {

TEST(MemoryBinding, LeavesMemoryUsableWhateverItsEnds) {
  constexpr std::size_t kBytes = 1 << 20;
  void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* data = static_cast<std::byte*>(mapped);
  const bool bound = bind_memory({data + 100, kBytes - 300}, affinity_mask());
  if (!processors_are_known()) {
    EXPECT_FALSE(bound);
  }
  std::memset(data, 1, kBytes);
  EXPECT_EQ(data[kBytes - 1], std::byte{1});
  munmap(mapped, kBytes);
}

TEST(MemoryBinding, BindsWholeSystemPagesAndNoOthers) {
  if (!processors_are_known()) GTEST_SKIP() << "this build has no hwloc";
  const std::string refusal = test::refusal_of_binding();
  if (!refusal.empty()) GTEST_SKIP() << "the system refuses " << refusal;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t bytes = 8 * page;
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* data = static_cast<std::byte*>(mapped);
  std::memset(data, 1, bytes);
  const bool everywhere = test::is_bound(data);  // as the whole process may be
  EXPECT_TRUE(bind_memory({data + 100, bytes - 300}, affinity_mask()));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(test::is_bound(data + i * page), everywhere || (i > 0 && i < 7)) << i;
  }
  munmap(mapped, bytes);
}

TEST(MemoryBinding, HasNothingToDoForLessThanAPageOrForNoNode) {
  std::byte few[64];
  if (processors_are_known()) {
    EXPECT_TRUE(bind_memory(few, affinity_mask()));
  }
  EXPECT_TRUE(bind_memory({}, {}));
}

TEST(MemoryBinding, SaysWhenTheSystemRefuses) {
  if (!processors_are_known()) GTEST_SKIP() << "this build has no hwloc";
  void* mapped = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_FALSE(bind_memory({static_cast<std::byte*>(mapped), 1 << 20}, {1000000}));
  munmap(mapped, 1 << 20);
}

}  // namespace
}  // namespace tandem
