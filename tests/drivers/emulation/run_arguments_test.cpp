// SPDX-License-Identifier: Apache-2.0
//
// Arguments of a run against those that its kernel takes.
#include "emulation/xrt_shim/checks/run_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tandem::emulation {
namespace {

using testing::HasSubstr;

constexpr uint64_t kRunPacket = 4096;

// A pointer, a value of 4 bytes, a stream.
std::vector<KernelArgument> arguments_of_trial() {
  return {{"data", 1, 0x10, 8}, {"count", 0, 0x1c, 4}, {"link", 4, 0x24, 0}};
}

TEST(RunArguments, ThatFitAreNoProblem) {
  RunArguments runs;
  runs.made(kRunPacket, true);
  runs.set(kRunPacket, 0, {true, 0, 0});
  runs.set(kRunPacket, 1, {false, 4, 0});
  EXPECT_TRUE(runs.problems(kRunPacket, arguments_of_trial()).empty());
  runs.set(kRunPacket, 0, {false, 8, 0});  // an address
  EXPECT_TRUE(runs.problems(kRunPacket, arguments_of_trial()).empty());
}

TEST(RunArguments, OfAnotherTypeOrSizeAreNamed) {
  RunArguments runs;
  runs.made(kRunPacket, true);
  runs.set(kRunPacket, 0, {false, 4, 0});
  runs.set(kRunPacket, 1, {true, 0, 0});
  auto problems = runs.problems(kRunPacket, arguments_of_trial());
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].argument, 0u);
  EXPECT_THAT(problems[0].message, HasSubstr("a value of 4 bytes, and the kernel takes a pointer"));
  EXPECT_EQ(problems[1].argument, 1u);
  EXPECT_THAT(problems[1].message, HasSubstr("a buffer, and the kernel takes a value of 4 bytes"));
  EXPECT_FALSE(problems[1].is_warning);
  runs.set(kRunPacket, 0, {true, 0, 0});
  runs.set(kRunPacket, 1, {false, 8, 0});
  problems = runs.problems(kRunPacket, arguments_of_trial());
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_TRUE(problems[0].is_warning);  // the low bytes arrive
  runs.set(kRunPacket, 1, {false, 1, 0});
  problems = runs.problems(kRunPacket, arguments_of_trial());
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_FALSE(problems[0].is_warning);
  EXPECT_THAT(problems[0].message, HasSubstr("a value of 1 byte,"));
}

TEST(RunArguments, OfANewRunWithTheSamePacketAreMissing) {
  RunArguments runs;
  EXPECT_TRUE(runs.problems(kRunPacket, arguments_of_trial()).empty());  // not known
  runs.made(kRunPacket, true);
  runs.set(kRunPacket, 0, {true, 0, 0});
  runs.set(kRunPacket, 1, {false, 4, 0});
  runs.made(kRunPacket, true);
  const auto problems = runs.problems(kRunPacket, arguments_of_trial());
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_THAT(problems[0].message, HasSubstr("without this argument (0 of 3 are set)"));
  EXPECT_TRUE(runs.knows(kRunPacket));
  runs.made(kRunPacket, false);  // by OpenCL's library
  EXPECT_FALSE(runs.knows(kRunPacket));
  EXPECT_TRUE(runs.problems(kRunPacket, arguments_of_trial()).empty());
}

}  // namespace
}  // namespace tandem::emulation
