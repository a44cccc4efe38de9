// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of the OpenCL layer: the functions that the layer calls.
//
// `target` is filled once, when the loader starts the layer, before any other call.
#pragma once

#include "emulation/opencl_layer/opencl_api.h"

namespace tandem::emulation {

extern cl_icd_dispatch target;

// When the layer registers a wait for the library's threads at the end of the process (atexit: last
// registered, first called). It must come before the library destroys what its threads use, and the
// library makes some of that late.
enum class ExitPoint {
  kLoaded,    // a program
  kEnded,     // a command
  kReleased,  // the last program or kernel that the application held
};
// Does nothing before the first program is loaded, and the second time for a point.
void wait_at_exit(ExitPoint point);

// Puts the layer's functions for programs and kernels (program_calls.cpp) into the table.
void take_program_calls(cl_icd_dispatch& layer);

}  // namespace tandem::emulation
