// SPDX-License-Identifier: Apache-2.0
//
// What a kernel's source text tells and its compiled type does not: argument names and the control
// protocol.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/xclbin_file.h"

namespace tandem::xclbin {

struct KernelSource {
  std::vector<std::string> argument_names;
  Control control = Control::kChain;  // ap_ctrl_chain, as Vitis' default for kernels
};

// Finds the definition of `kernel` in `text` (comments and strings ignored). `path` for messages.
// Throws Error when there is no definition, or the argument list is built by macros.
KernelSource scan_kernel_source(const std::string& text, const std::string& kernel,
                                const std::string& path);

}  // namespace tandem::xclbin
