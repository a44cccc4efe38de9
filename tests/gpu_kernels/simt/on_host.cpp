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

// A sanitizer looks at addresses, which one order shows; it makes each kernel many times as slow.
#ifdef __SANITIZE_ADDRESS__
std::vector<int> runs() { return {2}; }
#else
std::vector<int> runs() { return {0, 1, 2}; }
#endif

std::string name_of_run(int run) {
  return run == 0 ? "Ascending" : run == 1 ? "Descending" : "Shuffled";
}

bool runs_path(KernelPath) { return true; }

}  // namespace tandem::gpu_kernels
