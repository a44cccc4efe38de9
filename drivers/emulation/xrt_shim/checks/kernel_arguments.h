// SPDX-License-Identifier: Apache-2.0
//
// Reads the arguments of a bitstream's kernels, and the banks that a unit's arguments reach. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bitstreams/xclbin/xclbin_file.h"

namespace tandem::emulation {

constexpr uint32_t kScalarArgument = 0, kPointerArgument = 1, kStreamArgument = 4;

struct KernelArgument {
  std::string name;
  uint32_t kind = 0;          // as above; 3: local memory
  uint32_t offset = 0;        // in the register map
  uint32_t num_bytes = 0;     // size of the program's value
  bool is_array = false;      // scalars only: a pointer in the register map, which may be an output
  bool is_read_only = false;  // a pointer to const
};

// By kernel, in order of the argument numbers. Empty if the metadata has none.
std::map<std::string, std::vector<KernelArgument>> kernel_arguments(const xclbin::XclbinFile& file);

// The device addresses [first, second) that argument `argument` of a unit reaches.
std::vector<std::pair<uint64_t, uint64_t>> reached_memory(const xclbin::XclbinFile& file,
                                                          const xclbin::ComputeUnit& unit,
                                                          size_t argument);

}  // namespace tandem::emulation
