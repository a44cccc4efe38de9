// SPDX-License-Identifier: Apache-2.0
//
// Residuals in the memory of a GPU, for the tests of sparsifiers. Ranks are threads, and the
// interpreter is for one thread: their calls take turns.
#include "cuda/backend.h"
#include "host/collectives/sparsifier/training.h"
#include "support/locked_device.h"

namespace tandem::collectives::test {

std::vector<Residence> residences() {
  const device::Backend& backend = device::cuda_backend();
  if (backend.enumerate({}).empty()) {
    return {{"cuda", {}, "no GPU: " + backend.unavailable_reason()}};
  }
  static device::test::LockedDevice device(backend.open(0, {}));
  return {
      {"cuda", [](const device::SelectionShape& shape) {
         return DeviceResidence{device.make_selection_unit(shape), device.make_gradient_memory()};
       }}};
}

}  // namespace tandem::collectives::test
