// SPDX-License-Identifier: Apache-2.0
//
// The compute units of the kernel of embedding tables, after its kernel image (xclbin) is loaded
// onto a card.
//
// Errors: Error naming the file when it is missing or damaged, has no embedding_update kernel,
// connects the two table ports to different memories, or is refused by the card. Threads: one.
#pragma once

#include "xrt/card/kernel_units.h"

namespace tandem::device::xrt_card {

// Arguments of the kernel, in order.
enum TableArgument {
  kTableInput,
  kTableIn,
  kTableOut,
  kTableResult,
  kTableInputWords,
  kTableWords,
  kTableResultWords,
};

// An empty path means the image that is installed with Tandem.
std::vector<KernelUnit> load_table_image(xrt::device& device, const std::string& path);

}  // namespace tandem::device::xrt_card
