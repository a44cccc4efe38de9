// SPDX-License-Identifier: Apache-2.0
//
// The backend says why there is no GPU, and that is never a failure.
#include "cuda/backend.h"

#include <gmock/gmock.h>

#include "common/error.h"

namespace tandem::device {
namespace {

TEST(CudaBackendTest, EnumeratesWithoutThrowingWhateverTheMachineHas) {
  const auto infos = cuda_backend().enumerate({});
  if (!cuda_backend().available()) {
    EXPECT_TRUE(infos.empty());
    EXPECT_FALSE(cuda_backend().unavailable_reason().empty());
  }
  for (std::size_t index = 0; index < infos.size(); ++index) {
    EXPECT_EQ(infos[index].id, "cuda:" + std::to_string(index));
    EXPECT_EQ(infos[index].makes_compute, infos[index].makes_attention);
    EXPECT_GT(infos[index].link_bandwidth_bytes_per_s, 0);  // its memory is not the host's
    EXPECT_GT(infos[index].memory_bytes, 0u);
  }
}

TEST(CudaBackendTest, OpeningADeviceThatIsNotThereSaysWhy) {
  try {
    cuda_backend().open(1000, {});
    FAIL() << "opened";
  } catch (const Error& error) {
    const std::string expected = cuda_backend().available() ? "there is no device cuda:1000"
                                                            : cuda_backend().unavailable_reason();
    EXPECT_THAT(error.what(), testing::HasSubstr(expected));
  }
}

}  // namespace
}  // namespace tandem::device
