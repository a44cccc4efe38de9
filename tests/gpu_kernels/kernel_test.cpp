// SPDX-License-Identifier: Apache-2.0
//
// Skips where there is nothing to run on; TANDEM_TEST_REQUIRE=cuda makes that a failure.
#include <cstdlib>

#include "gpu_kernels/device_array.h"

namespace tandem::gpu_kernels {

void KernelTest::SetUp() {
  const std::string reason = start_run(GetParam());
  if (reason.empty()) return;
  const char* required = std::getenv("TANDEM_TEST_REQUIRE");
  if (required != nullptr && std::string(required).find("cuda") != std::string::npos) {
    FAIL() << "TANDEM_TEST_REQUIRE names cuda, but " << reason;
  }
  GTEST_SKIP() << reason;
}

}  // namespace tandem::gpu_kernels
