// SPDX-License-Identifier: Apache-2.0
//
// What orders OpenCL commands, as the OpenCL layer tells it: queues, events, and what the program
// waits for.
//
// Each command is a node of run_order.h: behind the one before in a queue with an order, otherwise
// behind what it waits for. What is behind a barrier or a marker counts as behind all commands of
// the queue that have begun, so a race may be missed, but none is told wrongly. The layer tells of
// a command before and after it enqueues it, in the same thread; libxilinxopencl makes the
// command's run in between. Threads: any.
#pragma once

#include "emulation/xrt_shim/checks/run_order.h"

namespace tandem::emulation {

// Whose the run is that libxilinxopencl makes in this thread now. Without a node: it makes it for a
// further work-group of an earlier command, or the layer is not there.
OrderOwner order_of_enqueued();

}  // namespace tandem::emulation
