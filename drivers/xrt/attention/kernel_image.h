// SPDX-License-Identifier: Apache-2.0
//
// The compute units of the attention kernel, after its kernel image (xclbin) is loaded onto a card.
//
// Errors: Error naming the file when it is missing or damaged, has no attention_decode kernel,
// connects the ports in a way the driver cannot use, or is refused by the card. Threads: one.
#pragma once

#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <string>
#include <vector>

#include "xrt/card/kernel_units.h"

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

struct ComputeUnitHandle {
  std::string name;
  xrt::kernel kernel;
  ArgumentMemory key_memory, value_memory;
};

// Loads `path` onto the device (unless it is there) and opens every compute unit of the kernel.
std::vector<ComputeUnitHandle> load_kernel_image(xrt::device& device, const std::string& path);

}  // namespace tandem::device::xrt_card
