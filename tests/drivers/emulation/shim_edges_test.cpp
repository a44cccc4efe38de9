// SPDX-License-Identifier: Apache-2.0
//
// Rare paths of the shim: registers that are no words, memory that comes back late, memory of
// another card's bank, and a card opened after a fork.
#include <experimental/xrt-next.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "emulated_cards.h"
#include "forked_process.h"
#include "shim_functions.h"

namespace tandem::emulation_test {
namespace {

TEST(ShimEdges, RegistersAreReadAndWrittenAtMultiplesOfFour) {
  TrialCard card;
  const auto handle = static_cast<xclDeviceHandle>(card.device);
  const auto unit = static_cast<uint32_t>(TANDEM_SHIM(xclIPName2Index)(handle, "trial:trial_1"));
  uint32_t value = 0;
  EXPECT_EQ(TANDEM_SHIM(xclRegRead)(handle, unit, 0x10, &value), 0);
  EXPECT_EQ(TANDEM_SHIM(xclRegRead)(handle, unit, 0x12, &value), -EINVAL);
  EXPECT_EQ(TANDEM_SHIM(xclRegWrite)(handle, unit, 0x11, 1), -EINVAL);
}

TEST(ShimEdges, MemoryThatWasExportedComesBackWhenABankIsFull) {
  TrialCard card;
  for (int times = 0; times < 3; ++times) {  // more than half a bank
    xrt::bo large(card.device, 400 << 20, xrt::bo::flags::device_only, card.kernel.group_id(2));
    EXPECT_GE(large.export_buffer(), 0);
  }
}

TEST(ShimEdges, AnImportedBufferIsInABankThatTheImportersKernelsReach) {
  TrialCard card(0);
  ASSERT_NE(card.kernel.group_id(2), 0);
  xrt::device other(1u);
  other.load_xclbin(std::string(TANDEM_TEST_XCLBIN_DIR "/idle_vadd.xclbin"));  // uses bank 0 only
  const auto handle = static_cast<xclDeviceHandle>(other);
  const auto imported = TANDEM_SHIM(xclImportBO)(handle, card.out.export_buffer(), 0);
  xclBOProperties properties{};
  ASSERT_EQ(TANDEM_SHIM(xclGetBOProperties)(handle, imported, &properties), 0);
  EXPECT_EQ(properties.flags & 0xffffu, 0u);
  TANDEM_SHIM(xclFreeBO)(handle, imported);
}

TEST(ShimEdges, AForkedChildMayOpenACardOfItsOwn) {
  if (kThreadSanitizer) GTEST_SKIP() << "threads of forked children are taken for the parent's";
  TrialCard card;
  ASSERT_EQ(card.run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
  const pid_t child = fork();
  if (child == 0) {
    int code = 2;
    try {
      TrialCard own;
      code = own.run(kWrite, 2) == ERT_CMD_STATE_COMPLETED && own.fetch()[1] == 1 ? 0 : 1;
    } catch (const std::exception&) {
    }
    _exit(code);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: the first launch of its unit did not complete";
  EXPECT_EQ(card.run(kWrite, 3), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(card.fetch()[1], 2u) << "the parent's unit ran twice";
}

}  // namespace
}  // namespace tandem::emulation_test
