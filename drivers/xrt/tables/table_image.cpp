// SPDX-License-Identifier: Apache-2.0
//
// The kernel reads and writes a unit's tables through two ports.
#include "xrt/tables/table_image.h"

#include "common/error.h"

namespace tandem::device::xrt_card {

std::vector<KernelUnit> load_table_image(xrt::device& device, const std::string& path) {
  const KernelImage image = {path.empty() ? find_kernel_image("embedding_update") : path,
                             "embedding_update",
                             "embedding_update.xclbin is neither beside the program nor "
                             "installed; build the target xclbin_embedding_update"};
  std::vector<KernelUnit> units = load_kernel_units(device, image);
  for (const KernelUnit& unit : units) {
    if (unit.kernel.group_id(kTableIn) == unit.kernel.group_id(kTableOut)) continue;
    throw Error("xrt", "the kernel image " + image.path + " connects the table ports of " +
                           unit.name +
                           " to different memories: link table_in and table_out to one (sp= in "
                           "embedding_update.cfg)");
  }
  return units;
}

}  // namespace tandem::device::xrt_card
