// SPDX-License-Identifier: Apache-2.0
//
// The functions by which the shim reports failed kernels, modelled times and loaded programs to the
// OpenCL layer.
//
// The shim exports these functions with C linkage. The layer looks them up once the shim is loaded,
// after libxilinxopencl has found the cards. Threads: any.
#pragma once

#include "emulation/opencl_layer/opencl_api.h"

extern "C" {

// Not 0 when the command of `event` is a kernel that failed.
int tandem_opencl_event_failed(cl_event event);
// The time that the kernel of a completed event takes on a real card, in nanoseconds; 0: unknown,
// as without TANDEM_TIME.
unsigned long long tandem_opencl_modelled_ns(cl_event event);
// Not 0 while this process has a context on a card; libxilinxopencl has one while a program is
// loaded, and gives it up as the last step of unloading.
int tandem_opencl_contexts_open();
// Not 0 while this process has a device open; libxilinxopencl closes it as the last step of
// destroying a context.
int tandem_opencl_devices_open();
// Not 0 when a kernel of `queue` failed since the last call with `forget`.
int tandem_opencl_queue_failed(cl_command_queue queue, int forget);
}
