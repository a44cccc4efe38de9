// SPDX-License-Identifier: Apache-2.0
//
// The nccl transport on GPUs, a thread each: skips without two of them (TANDEM_TEST_REQUIRE=cuda:
// fails without one), and says why it cannot connect.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

#include "host/transport/conformance.h"
#include "host/transport/nccl/nccl_world.h"

namespace tandem::transport::nccl {
namespace {

class NcclTransportTest : public testing::Test {
 protected:
  // Fails or skips the test where it cannot run; then returns 0.
  static int num_gpus() {
    int count = 0;
    if (available() && cudaGetDeviceCount(&count) == cudaSuccess) return count;
    return 0;
  }
  void SetUp() override {
    if (num_gpus() > 0) return;
    const char* required = std::getenv("TANDEM_TEST_REQUIRE");
    if (required != nullptr && std::string(required).find("cuda") != std::string::npos) {
      FAIL() << unavailable_reason();
    }
    GTEST_SKIP() << unavailable_reason();
  }
};

TEST(NcclTransportReasonTest, ConnectingWithoutNcclOrAGpuSaysWhatIsMissing) {
  if (available()) GTEST_SKIP() << "nothing is missing";
  EXPECT_FALSE(unavailable_reason().empty());
  try {
    connect({});
    FAIL() << "connected";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(unavailable_reason()));
  }
}

TEST_F(NcclTransportTest, AWorldOfOneNeedsNoPeer) {
  EXPECT_THAT(run_world(1, [](Transport& transport) { test::Conformance(transport).everything(); }),
              testing::Each(testing::IsEmpty()));
}

TEST_F(NcclTransportTest, DoesWhatEveryTransportMustDo) {
  const int world = std::min(num_gpus(), 4);
  if (world < 2) GTEST_SKIP() << "needs two GPUs, one for each rank";
  EXPECT_THAT(
      run_world(world, [](Transport& transport) { test::Conformance(transport).everything(); }),
      testing::Each(testing::IsEmpty()));
}

// One GPU has a window of its own and no peer.
TEST_F(NcclTransportTest, SymmetricWindowsDoWhatGroupsDo) {
  Options options;
  options.symmetric = true;
  const int world = std::min(num_gpus(), 4);
  const auto errors = run_world(
      world, [](Transport& transport) { test::Conformance(transport).everything(); }, options);
  for (const std::string& error : errors) {
    if (error.find("symmetric") != std::string::npos) GTEST_SKIP() << error;
    EXPECT_EQ(error, "");
  }
}

}  // namespace
}  // namespace tandem::transport::nccl
