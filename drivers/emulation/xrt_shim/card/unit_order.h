// SPDX-License-Identifier: Apache-2.0
//
// sort_units: puts the compute units of a bitstream into the order in which XRT numbers them.
#pragma once

#include <vector>

#include "bitstreams/xclbin/xclbin_file.h"

namespace tandem::emulation {

// By interrupt id, or by address when no unit has an id. Free-running units, which have no
// registers, come last. Units that compare equal keep the order of the file.
void sort_units(std::vector<xclbin::ComputeUnit>& units);

}  // namespace tandem::emulation
