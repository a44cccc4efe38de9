// SPDX-License-Identifier: Apache-2.0
//
// The attention kernel's compute units on a card, once its kernel image (xclbin) is loaded.
//
// Native XRT C++ API. Errors: Error naming the file when it is missing, is no xclbin, has no
// attention_decode kernel, or is refused by the card. Threads: one.
#pragma once

#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::device::xrt_card {

// Arguments of the kernel, in order.
enum KernelArgument {
  kDescriptor,
  kResult,
  kKeyPool,
  kValuePool,
  kDescriptorWords,
  kResultWords,
  kPoolWords,
  kHeadBegin,
  kHeadCount,
  kSlice,
  kNumSlices,
};

// The memory a pool argument reaches: bytes, and the first bank's index (pools with the same index
// share the memory).
struct PoolMemory {
  int bank = -1;
  std::uint64_t size_bytes = 0;
};

struct ComputeUnitHandle {
  std::string name;
  xrt::kernel kernel;
  PoolMemory key_memory, value_memory;
};

// Loads `path` onto the device (unless it is there) and opens every compute unit of the kernel.
std::vector<ComputeUnitHandle> load_kernel_image(xrt::device& device, const std::string& path);

}  // namespace tandem::device::xrt_card
