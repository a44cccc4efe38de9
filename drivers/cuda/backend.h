// SPDX-License-Identifier: Apache-2.0
//
// The CUDA backend of the device registry. It is part of every build: see Backend::available().
#pragma once

#include "device/registry.h"
#include "device/stencil_unit.h"

namespace tandem::device {

const Backend& cuda_backend();

// Fields in the GPU's memory, and the kernels of gpu_kernels/stencil on a stream of its own. Error
// where the build has no CUDA, and where there is no such GPU.
std::unique_ptr<StencilUnit> open_cuda_stencil_unit(int index, const StencilFields& fields);

}  // namespace tandem::device
