// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of the OpenCL layer: the functions that the layer calls.
//
// `target` is filled once, when the loader starts the layer, before any other call.
#pragma once

#include "emulation/opencl_layer/opencl_api.h"

namespace tandem::emulation {

extern cl_icd_dispatch target;

// When the layer registers a wait (atexit) for the library's threads at the end of the process.
// Functions of atexit run in reverse order. The wait must run before the library destroys objects
// that its threads use, and the library makes some of these late.
enum class ExitPoint {
  kLoaded,    // when a program is loaded
  kEnded,     // when a command has ended
  kReleased,  // when the application releases its last program or kernel
};
// Does nothing before the first program is loaded, or if the point was registered before.
void wait_at_exit(ExitPoint point);

// Puts the functions of order_calls.cpp into the table, around those that are there.
void take_order_calls(cl_icd_dispatch& layer);
// For the others: what the program knows to be over, and a new queue, which is returned.
void tell_waited(cl_uint count, const cl_event* events);
void tell_finished(cl_command_queue queue);
cl_command_queue tell_made(cl_command_queue queue);
// Puts the layer's functions for arguments (argument_calls.cpp) into the table.
void take_argument_calls(cl_icd_dispatch& layer);
// Puts the layer's functions for programs and kernels (program_calls.cpp) into the table.
void take_program_calls(cl_icd_dispatch& layer);

}  // namespace tandem::emulation
