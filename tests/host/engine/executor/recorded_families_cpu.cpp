// SPDX-License-Identifier: Apache-2.0
//
// Recorded families on the CPU, whose products round no activations.
#include "cpu/backend.h"
#include "host/engine/executor/recorded_families_device.h"

namespace tandem::engine {

// Rounding keys and values to f16 alone changes the answer by up to 4e-6. Where the reference
// rounds them too, f32 sums remain, and now and then a value that both round differently.
FamiliesDevice families_device() {
  return {device::cpu_backend(), {{{}, {0, 1, 7, 30}, {1, 2}, 1e-5, 1e-7}}, {false, true}};
}

}  // namespace tandem::engine
