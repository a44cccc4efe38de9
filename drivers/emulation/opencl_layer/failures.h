// SPDX-License-Identifier: Apache-2.0
//
// The functions by which the shim reports failed kernels, modelled times and loaded programs to the
// OpenCL layer, and by which the layer tells the shim what the program enqueues.
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
// A call for a kernel was refused because of an argument; negative: of one that is not set.
void tandem_opencl_refused(const char* kernel, int argument, const char* message);
// Not 0 while a card of this process has checks: only then the following calls are needed. They
// tell what orders commands; see xrt_shim/opencl/opencl_order.h.
int tandem_opencl_orders();
struct OpenClCommand {
  int queue_has_order;
  unsigned groups;  // the kernel's work-groups; 0: no kernel, 2: several or not known
  int is_barrier;   // 1: a marker; 2: later commands of the queue come after it
  unsigned num_events;
  const cl_event* events;  // that it waits for
};
// Before and after a command is enqueued. `event`: null if it failed, or if the program wants none.
// `is_over`: the program has waited for it.
void tandem_opencl_enqueues(cl_command_queue queue, const struct OpenClCommand* command);
void tandem_opencl_enqueued(cl_event event, int is_over);
void tandem_opencl_queue_made(cl_command_queue queue);
// An event of the program's own.
void tandem_opencl_event_made(cl_event event);
// The program knows that the command of the event, or all commands of the queue, are over.
void tandem_opencl_waited(cl_event event);
void tandem_opencl_finished(cl_command_queue queue);
// Not 0 when a kernel of `queue` failed since the last call with `forget`.
int tandem_opencl_queue_failed(cl_command_queue queue, int forget);
}
