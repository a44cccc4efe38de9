// SPDX-License-Identifier: Apache-2.0
//
// Memory bound to the node that this process runs on stays usable; where the system can say, it
// says that node.
#include "common/memory_binding.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "common/topology.h"

namespace tandem {
namespace {

TEST(MemoryBinding, LeavesMemoryUsableWhateverItsEnds) {
  constexpr std::size_t kBytes = 1 << 20;
  void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* data = static_cast<std::byte*>(mapped);
  const bool bound = bind_memory({data + 100, kBytes - 300}, affinity_mask());
  if (!topology_is_known()) EXPECT_FALSE(bound);
  std::memset(data, 1, kBytes);
  EXPECT_EQ(data[kBytes - 1], std::byte{1});
  munmap(mapped, kBytes);
}

TEST(MemoryBinding, HasNothingToDoForLessThanAPageOrForNoNode) {
  std::byte few[64];
  if (topology_is_known()) EXPECT_TRUE(bind_memory(few, affinity_mask()));
  EXPECT_TRUE(bind_memory({}, {}));
}

TEST(MemoryBinding, SaysWhenTheSystemRefuses) {
  if (!topology_is_known()) GTEST_SKIP() << "this build has no hwloc";
  void* mapped = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_FALSE(bind_memory({static_cast<std::byte*>(mapped), 1 << 20}, {1000000}));
  munmap(mapped, 1 << 20);
}

}  // namespace
}  // namespace tandem
