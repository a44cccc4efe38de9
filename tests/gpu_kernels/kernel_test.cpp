// SPDX-License-Identifier: Apache-2.0
//
// The runs of KernelTest, and how a case starts or skips.
#include <cstdlib>

#include "gpu_kernels/device_array.h"

namespace tandem::gpu_kernels {

INSTANTIATE_TEST_SUITE_P(Runs, KernelTest, ::testing::ValuesIn(runs()),
                         [](const auto& info) { return name_of_run(info.param); });

void start_or_skip(int run) {
  const std::string reason = start_run(run);
  if (reason.empty()) return;
  const char* required = std::getenv("TANDEM_TEST_REQUIRE");
  if (required != nullptr && std::string(required).find("cuda") != std::string::npos) {
    FAIL() << "TANDEM_TEST_REQUIRE names cuda, but " << reason;
  }
  GTEST_SKIP() << reason;
}

}  // namespace tandem::gpu_kernels
