// SPDX-License-Identifier: Apache-2.0
//
// Work-items of one group: barriers, room for private arrays, and cost.
#include "bitstreams/compiler/glue/opencl_c/work_group.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace tandem_opencl {
namespace {

using Item = std::function<void(WorkGroup&, std::uint64_t item)>;

void run(WorkGroup& group, std::uint64_t items, const Item& item) {
  struct Call {
    WorkGroup& group;
    const Item& item;
  } call{group, item};
  group.group.local_size[0] = items;
  group.group.local_size[1] = group.group.local_size[2] = 1;
  group.run(
      [](void* argument) {
        const Call& one = *static_cast<const Call*>(argument);
        one.item(one.group, one.group.group.local_id[0]);
      },
      &call);
}

TEST(WorkGroupTest, ItemsMeetAtBarriers) {
  WorkGroup group;
  std::vector<std::uint64_t> order;
  run(group, 3, [&](WorkGroup& self, std::uint64_t item) {
    order.push_back(item);
    self.barrier();
    order.push_back(10 + item);
    EXPECT_EQ(self.group.local_id[0], item);
  });
  EXPECT_EQ(order, (std::vector<std::uint64_t>{0, 1, 2, 10, 11, 12}));
}

TEST(WorkGroupTest, AnItemsPrivateArrayOfMegabytesIsItsOwn) {
  WorkGroup group;
  int wrong = 0;
  run(group, 300, [&wrong](WorkGroup& self, std::uint64_t item) {
    constexpr std::size_t kBytes = std::size_t{5} << 18;  // 1.25 MiB
    volatile unsigned char own[kBytes];
    for (std::size_t at = 0; at < kBytes; at += 1024) own[at] = static_cast<unsigned char>(item);
    self.barrier();
    for (std::size_t at = 0; at < kBytes; at += 1024) {
      wrong += own[at] == static_cast<unsigned char>(item) ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// What a group tells, as a text.
std::string& told() {
  static std::string text;
  return text;
}
const GroupWatch kWatch = {
    [](std::uint64_t item) { told() += std::to_string(item); }, [] { told() += "|"; },
    [](const void*, const void* other, std::uint64_t reached, std::uint64_t items) {
      told() += "(" + std::to_string(reached) + "of" + std::to_string(items) +
                (other != nullptr ? " elsewhere)" : ")");
    }};

std::string watched(std::uint64_t items, const Item& item) {
  WorkGroup group;
  group.watch = &kWatch;
  told().clear();
  run(group, items, item);
  return told();
}

TEST(WorkGroupTest, AWatchHearsWhichItemRunsAndOfEachBarrier) {
  EXPECT_EQ(watched(3, [](WorkGroup& self, std::uint64_t) { self.barrier(); }), "012|012");
  EXPECT_EQ(watched(2,
                    [](WorkGroup& self, std::uint64_t) {
                      self.barrier();
                      self.barrier();
                    }),
            "01|01|01");
  EXPECT_EQ(watched(2, [](WorkGroup&, std::uint64_t) {}), "01");
}

TEST(WorkGroupTest, AWatchHearsOfBarriersThatNotAllItemsReach) {
  EXPECT_EQ(watched(3,
                    [](WorkGroup& self, std::uint64_t item) {
                      if (item != 1) self.barrier(&kWatch);
                    }),
            "012(2of3)|02");
  EXPECT_EQ(watched(2,
                    [](WorkGroup& self, std::uint64_t item) {
                      self.barrier(reinterpret_cast<const char*>(&kWatch) + item);
                    }),
            "01(2of2 elsewhere)|01");
}

std::ptrdiff_t num_mappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n');
}

// Of 65,530 that a process may have, for 32 units.
TEST(WorkGroupTest, AFullGroupTakesFewMappings) {
  WorkGroup group;
  const std::ptrdiff_t before = num_mappings();
  int passed = 0;
  run(group, 1024, [&passed](WorkGroup& self, std::uint64_t) {
    self.barrier();
    ++passed;
  });
  EXPECT_EQ(passed, 1024);
  EXPECT_LT(num_mappings() - before, 1024);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
using WorkGroupDeathTest = testing::Test;

TEST(WorkGroupDeathTest, AnArrayLargerThanTheStackFaults) {
  const auto overflow = [] {
    WorkGroup group;
    run(group, 4, [](WorkGroup& self, std::uint64_t item) {
      self.barrier();
      if (item != 2) return;
      volatile unsigned char own[StackArena::kBytes + (std::size_t{4} << 20)];
      own[0] = 1;
      EXPECT_EQ(own[0], 1);
    });
  };
  EXPECT_EXIT(overflow(), testing::KilledBySignal(SIGSEGV), "");
}
#endif

}  // namespace
}  // namespace tandem_opencl
