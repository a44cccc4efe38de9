// SPDX-License-Identifier: Apache-2.0
//
// Libraries that an earlier v++ made: used without their checks, or refused, with a sentence.
#include "emulation/card/program/kernel_library.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

namespace tandem::emulation {
namespace {

using testing::HasSubstr;

struct ForeignKernels : testing::Test {
  ForeignKernels() : elf(open(TANDEM_FOREIGN_KERNELS, O_RDONLY | O_CLOEXEC)) {}
  ~ForeignKernels() override { close(elf); }
  int elf;
};

TEST_F(ForeignKernels, ACheckedCopyWithoutItsWordIsNotUsedAndToldOnce) {
  testing::internal::CaptureStderr();
  const KernelLibrary first(elf, "old", KernelCopy::kChecked);
  const KernelLibrary second(elf, "old", KernelCopy::kChecked);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(
      told,
      "tandem-card: kernel 'old' was compiled by an earlier v++ and is not checked; compile it "
      "again\n");
  EXPECT_FALSE(first.checked());
  EXPECT_EQ(first.skip_mask(), nullptr);
  EXPECT_STREQ(second.entry().name, "old");
}

TEST_F(ForeignKernels, OneWithAnotherEntryIsRefused) {
  try {
    const KernelLibrary library(elf, "older");
    FAIL() << "it was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("kernel 'older' was built for another version; rebuild it"));
  }
  try {
    const KernelLibrary library(elf, "gone");
    FAIL() << "it was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the bitstream holds no kernel 'gone'"));
  }
}

}  // namespace
}  // namespace tandem::emulation
