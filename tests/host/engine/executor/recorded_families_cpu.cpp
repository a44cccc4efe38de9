// SPDX-License-Identifier: Apache-2.0
//
// Recorded families on the CPU, whose products round no activations.
#include "cpu/backend.h"
#include "host/engine/executor/recorded_families_device.h"

namespace tandem::engine {

// What rounding keys and values to f16 alone makes of the answer is up to 4e-6. With the
// reference's rounded too: f32 sums, and now and then a value that they round otherwise.
FamiliesDevice families_device() {
  return {device::cpu_backend(), {{{}, {0, 1, 7, 30}, {1, 2}, 1e-5, 1e-7}}, {false, true}};
}

}  // namespace tandem::engine
