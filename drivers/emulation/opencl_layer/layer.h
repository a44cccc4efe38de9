// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of the OpenCL layer: the functions that the layer calls.
//
// `target` is filled once, when the loader starts the layer, before any other call.
#pragma once

#include "emulation/opencl_layer/opencl_api.h"

namespace tandem::emulation {

extern cl_icd_dispatch target;

// Enters the layer's calls about programs and kernels (program_calls.cpp).
void take_program_calls(cl_icd_dispatch& layer);

}  // namespace tandem::emulation
