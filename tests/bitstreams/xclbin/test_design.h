// SPDX-License-Identifier: Apache-2.0
//
// A small design that needs no compiler, for tests of the file format.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "bitstreams/xclbin/xclbin_writer.h"

namespace tandem::xclbin_test {

// Two kernels, three units, one bank range; the "ELF" is a header and zeros.
inline xclbin::Design small_design() {
  xclbin::Design design;
  design.name = "small";
  design.platform = &xclbin::find_platform("u55c");
  xclbin::Kernel copy{"copy", xclbin::Control::kChain, {}, {"copy_1", "copy_2"}};
  copy.arguments = {{"in", "const int*", 1, 8, 8, 0x10},
                    {"out", "int*", 1, 8, 8, 0x1c},
                    {"count", "unsigned int", 0, 4, 4, 0x28}};
  xclbin::Kernel scale{"scale", xclbin::Control::kHandshake, {}, {"scale_1"}};
  scale.arguments = {{"data", "float*", 1, 8, 8, 0x10}, {"factor", "float", 0, 4, 4, 0x1c}};
  design.kernels = {copy, scale};
  design.connections = {
      {"copy_1", "in", 2, 2}, {"copy_2", "out", 4, 7}, {"scale_1", "data", 31, 31}};
  design.elf.assign(100, std::byte{0});
  std::memcpy(design.elf.data(), "\177ELF\2\1\1", 7);
  return design;
}

}  // namespace tandem::xclbin_test
