// SPDX-License-Identifier: Apache-2.0
//
// Recorded families on a GPU, which may be an interpreted one.
#include "cuda/backend.h"
#include "host/engine/executor/recorded_families_device.h"

namespace tandem::engine {

// Which file the weights came from is no matter of the device.
// With weights in f32 nothing is rounded to fewer bits but keys and values: the CPU's bounds.
// Products with f16 weights round every row to f16, by 2^-12 of a value at most: a mean square of
// up to 2^-24 of a row's for each of the four per layer, of up to seven layers, is 2e-6, and norms
// of rows that nearly cancel, sharp scores and caps make it ten times as much.
FamiliesDevice families_device() {
  return {device::cuda_backend(),
          {{DType::kF32, {30}, {1}, 1e-5, 1e-7},
           {DType::kF32, {7}, {2}, 1e-5, 1e-7},
           {{}, {1}, {1}, 1e-4, 1e-4, 24},
           {{}, {30}, {1}, 1e-4, 1e-4}},
          {true}};
}

}  // namespace tandem::engine
