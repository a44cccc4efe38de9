// SPDX-License-Identifier: Apache-2.0
//
// The memory that control groups of both versions leave to a process, from files as Linux has them.
#include "common/available_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/scratch_path.h"

namespace tandem {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class AvailableMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
  }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_.path() / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  // limit and use in MiB, of a group of version 2
  void write_group(const std::string& path, const std::string& limit, std::uint64_t used) {
    const std::string folder = "sys/fs/cgroup" + path;
    write(folder + "/memory.max", limit + "\n");
    write(folder + "/memory.current", std::to_string(used * kMiB) + "\n");
  }
  AvailableMemory read() const { return available_memory(root_.string()); }

  const test::ScratchPath root_{"memory"};
};

TEST_F(AvailableMemoryTest, IsTheMachinesWithoutALimit) {
  write("proc/self/cgroup", "0::/job\n");
  write_group("/job", "max", 100);
  EXPECT_EQ(read().total_bytes, 8192 * kMiB);
  EXPECT_EQ(read().left_bytes, 4096 * kMiB);
  EXPECT_EQ(read().limit_bytes, AvailableMemory::kNoLimit);
}

TEST_F(AvailableMemoryTest, IsTheLeastOfNestedGroups) {
  write("proc/self/cgroup", "0::/slice/job/step\n");
  write_group("/slice/job/step", "max", 10);
  write_group("/slice/job", std::to_string(1024 * kMiB), 100);
  write_group("/slice", std::to_string(2048 * kMiB), 1800);  // larger, but others use it
  EXPECT_EQ(read().total_bytes, 1024 * kMiB);
  EXPECT_EQ(read().limit_bytes, 1024 * kMiB);
  EXPECT_EQ(read().left_bytes, 248 * kMiB);
}

TEST_F(AvailableMemoryTest, CountsThePageCacheAsLeft) {
  write("proc/self/cgroup", "0::/\n");
  write_group("", std::to_string(1024 * kMiB), 1000);
  write("sys/fs/cgroup/memory.stat", "anon 1\ninactive_file " + std::to_string(600 * kMiB) +
                                         "\nactive_file " + std::to_string(100 * kMiB) + "\n");
  EXPECT_EQ(read().left_bytes, 724 * kMiB);
}

TEST_F(AvailableMemoryTest, HoldsTheSoftLimitThatLinuxSlowsDownAt) {
  write("proc/self/cgroup", "0::/\n");
  write_group("", std::to_string(1024 * kMiB), 0);
  write("sys/fs/cgroup/memory.high", std::to_string(512 * kMiB) + "\n");
  EXPECT_EQ(read().limit_bytes, 512 * kMiB);
}

TEST_F(AvailableMemoryTest, ReadsGroupsOfVersionOne) {
  write("proc/self/cgroup", "4:memory:/outer/job\n0::/\n");
  const std::string outer = "sys/fs/cgroup/memory/outer";
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write(outer + "/memory.limit_in_bytes", std::to_string(700 * kMiB) + "\n");
  write(outer + "/memory.usage_in_bytes", std::to_string(500 * kMiB) + "\n");
  write(outer + "/memory.stat",
        "inactive_file 1\ntotal_inactive_file " + std::to_string(50 * kMiB) + "\n");
  write(outer + "/job/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(read().limit_bytes, 700 * kMiB);
  EXPECT_EQ(read().left_bytes, 250 * kMiB);
}

TEST_F(AvailableMemoryTest, FindsTheOwnGroupOfAContainerAtTheRootOfTheMount) {
  write("proc/self/cgroup", "4:memory:/docker/0123\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(300 * kMiB) + "\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n");
  EXPECT_EQ(read().left_bytes, 300 * kMiB);
}

TEST_F(AvailableMemoryTest, IsNothingWhereAGroupUsesMoreThanItsLimit) {
  write("proc/self/cgroup", "0::/\n");
  write_group("", std::to_string(100 * kMiB), 200);
  EXPECT_EQ(read().left_bytes, 0u);
}

}  // namespace
}  // namespace tandem
