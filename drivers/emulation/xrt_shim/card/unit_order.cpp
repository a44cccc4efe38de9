// SPDX-License-Identifier: Apache-2.0
//
// A stable sort: units without registers have the address ~0.
#include "emulation/xrt_shim/card/unit_order.h"

#include <algorithm>

namespace tandem::emulation {

void sort_units(std::vector<xclbin::ComputeUnit>& units) {
  const bool numbered =
      std::any_of(units.begin(), units.end(),
                  [](const xclbin::ComputeUnit& unit) { return unit.interrupt_id != 0; });
  std::stable_sort(units.begin(), units.end(),
                   [&](const xclbin::ComputeUnit& a, const xclbin::ComputeUnit& b) {
                     const bool a_free = a.base == ~uint64_t{0};
                     const bool b_free = b.base == ~uint64_t{0};
                     if (a_free != b_free) return b_free;
                     return numbered ? a.interrupt_id < b.interrupt_id : a.base < b.base;
                   });
}

}  // namespace tandem::emulation
