// SPDX-License-Identifier: Apache-2.0
//
// Which placements the host may read, and what the refusal says.
#include "tensor/view.h"

#include <gmock/gmock.h>

namespace tandem {
namespace {

std::string refusal_of(const Placement& placement) {
  try {
    require_host(placement, "test", "the values");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Placement, HostAndPinnedMemoryIsReadWithoutAQueue) {
  EXPECT_EQ(refusal_of({}), "");
  EXPECT_EQ(refusal_of({Memory::kPinned, "cuda:0", nullptr}), "");
}

TEST(Placement, DeviceMemoryIsRefusedWithWhatToDo) {
  const std::string text = refusal_of({Memory::kDevice, "cuda:1", nullptr});
  EXPECT_THAT(text, testing::HasSubstr("[test] the values lie in memory of cuda:1"));
  EXPECT_THAT(text, testing::HasSubstr("copy them to host memory"));
}

TEST(Placement, PinnedMemoryThatAQueueStillWritesIsRefused) {
  int queue = 0;
  EXPECT_THAT(refusal_of({Memory::kPinned, "cuda:0", &queue}),
              testing::HasSubstr("wait for the queue"));
}

}  // namespace
}  // namespace tandem
