// SPDX-License-Identifier: Apache-2.0
//
// The kernel reads and writes a unit's tables through two ports.
#include "xrt/tables/table_image.h"

namespace tandem::device::xrt_card {

std::vector<KernelUnit> load_table_image(xrt::device& device, const std::string& path) {
  return load_own_kernel(device, "embedding_update", path,
                         {{kTableIn, kTableOut}, "table", "table_in and table_out"});
}

}  // namespace tandem::device::xrt_card
