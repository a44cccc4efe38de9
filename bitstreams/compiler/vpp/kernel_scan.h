// SPDX-License-Identifier: Apache-2.0
//
// Finds the facts about a kernel that only its source states, not its compiled type: names of
// arguments, their interfaces, and the control protocol.
//
// Errors: Error("v++", ...) naming the file and what was found instead. Threads: any. Source: the
// vendor's HLS user guide, pragma HLS interface.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bitstreams/compiler/vpp/function_finder.h"
#include "bitstreams/xclbin/xclbin_file.h"

namespace tandem::vpp {

struct ScannedArgument {
  std::string name;
  bool global = false;  // a pointer, array or burst class, in the register map or not
  std::string bundle;   // of its m_axi interface; empty when the source names none
  // The number of elements in the register map, as a C++ expression: for a pointer or array whose
  // only interface is s_axilite. Empty for all others.
  std::string register_elements;
};

struct ScannedKernel {
  std::vector<ScannedArgument> arguments;
  xclbin::Control control = xclbin::Control::kChain;
};

// Whether `function` is the kernel of that name, and not a library's function of the same name.
bool defines_kernel(const FunctionDefinition& function, const std::string& kernel);

// `file_name` for messages.
ScannedKernel scan_kernel(std::string_view text, const std::string& kernel,
                          const std::string& file_name);

}  // namespace tandem::vpp
