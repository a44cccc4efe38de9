// SPDX-License-Identifier: Apache-2.0
//
// The output of xclbinutil --info: header, clocks, memory, and every kernel with its units and
// arguments.
//
// Errors: Error naming file and field. Threads: any.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tandem::xclbin {

std::string xclbin_report(std::span<const std::byte> bytes, const std::string& file_name);

}  // namespace tandem::xclbin
