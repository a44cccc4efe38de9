// SPDX-License-Identifier: Apache-2.0
//
// Residuals in host memory, and in the unit that every device's is compared with.
#include "cpu/gradient_memory.h"
#include "cpu/selection_unit.h"
#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {

std::vector<Residence> residences() {
  const auto on_unit = [](const device::SelectionShape& shape) {
    return DeviceResidence{device::cpu::make_selection_unit(shape),
                           device::cpu::make_gradient_memory()};
  };
  return {{}, {"cpu", on_unit}};
}

}  // namespace tandem::collectives::test
