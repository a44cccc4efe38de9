// SPDX-License-Identifier: Apache-2.0
//
// Stencils in builds without CUDA.
#include "common/error.h"
#include "cuda/backend.h"

namespace tandem::device {

std::unique_ptr<StencilUnit> open_cuda_stencil_unit(int, const StencilFields&) {
  throw Error("cuda", cuda_backend().unavailable_reason());
}

}  // namespace tandem::device
