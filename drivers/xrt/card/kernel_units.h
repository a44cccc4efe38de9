// SPDX-License-Identifier: Apache-2.0
//
// The compute units of one kernel in a kernel image (xclbin), and the memories their arguments
// reach. Works for any kernel.
//
// Uses the native XRT C++ API. Errors: Error naming the file when it is missing or damaged, does
// not have the kernel, or is refused by the card. Threads: one.
#pragma once

#include <experimental/xrt_xclbin.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::device::xrt_card {

// The memory an argument reaches: bytes, and the first bank's index (arguments with the same index
// share the memory).
struct ArgumentMemory {
  int bank = -1;
  std::uint64_t size_bytes = 0;
};

struct KernelUnit {
  std::string name;
  xrt::kernel kernel;
  xrt::xclbin::ip ip;

  ArgumentMemory memory_of(int argument) const;
};

// A kernel image. `advice`: a text that says what the user can do if the path is empty.
struct KernelImage {
  std::string path;
  std::string kernel_name;
  std::string advice;
};

// Loads the image onto the device (unless it is there) and opens every compute unit of the kernel,
// at least one.
std::vector<KernelUnit> load_kernel_units(xrt::device& device, const KernelImage& image);

// Arguments of a kernel that must reach one memory.
struct SharedPorts {
  std::vector<int> arguments;
  std::string kind;   // "input": as in "connects the input ports of"
  std::string names;  // as in "descriptor, positions and values"
};

// load_kernel_units() of one of Tandem's kernels. An empty `path`: find_kernel_image(). Error where
// a unit's shared ports reach different memories.
std::vector<KernelUnit> load_own_kernel(xrt::device& device, const std::string& kernel_name,
                                        const std::string& path, const SharedPorts& shared);

// <name>.xclbin of Tandem: next to the program (../share/tandem/bitstreams), else in Tandem's
// installed folder; empty when it is in neither place.
std::string find_kernel_image(const std::string& name);

}  // namespace tandem::device::xrt_card
