// SPDX-License-Identifier: Apache-2.0
//
// The tests' runs under the SIMT interpreter, one per order of threads.
#include "gpu_kernels/device_array.h"
#include "gpu_kernels/simt/simt.h"

namespace tandem::gpu_kernels {

std::string start_run(int run) {
  simt::set_order(static_cast<simt::Order>(run));
  return "";
}

INSTANTIATE_TEST_SUITE_P(OnHost, KernelTest, ::testing::Values(0, 1, 2),
                         [](const ::testing::TestParamInfo<int>& info) {
                           return std::string(info.param == 0   ? "Ascending"
                                              : info.param == 1 ? "Descending"
                                                                : "Shuffled");
                         });

}  // namespace tandem::gpu_kernels
