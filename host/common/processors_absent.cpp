// SPDX-License-Identifier: Apache-2.0
//
// Builds without hwloc know only the mask: each processor is a core of one node.
#include "common/error.h"
#include "common/processors.h"

namespace tandem {

bool processors_are_known() { return false; }

ProcessorLayout read_processors(const ProcessorSource& source) {
  if (!source.synthetic.empty() || !source.xml_path.empty()) {
    throw Error("threads",
                "this build cannot read descriptions of machines: install libhwloc-dev, then "
                "configure again");
  }
  ProcessorLayout flat =
      flat_processors(source.allowed ? *source.allowed : affinity_mask(), source.quota);
  flat.is_this_machine = true;
  return flat;
}

}  // namespace tandem
