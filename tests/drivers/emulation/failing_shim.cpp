// SPDX-License-Identifier: Apache-2.0
//
// The shim's exports to the OpenCL layer, for opencl_layer_test. Every event belongs to a failed
// kernel. Every queue had a failure when the library was loaded and at each fail_all_queues(),
// until the layer forgets it.
#include "emulation/opencl_layer/failures.h"

#include <cstdio>

namespace {

bool queues_failed = true;

}  // namespace

extern "C" {

void fail_all_queues() { queues_failed = true; }

int tandem_opencl_event_failed(cl_event) { return 1; }

int tandem_opencl_devices_open() { return 0; }

// At the third call the last program is unloaded.
int tandem_opencl_contexts_open() {
  static int calls = 0;
  const bool open = ++calls < 3;
  std::fprintf(stderr, open ? "program is loaded\n" : "program is unloaded\n");
  return open ? 1 : 0;
}

int tandem_opencl_queue_failed(cl_command_queue, int forget) {
  const bool failed = queues_failed;
  if (forget != 0) queues_failed = false;
  return failed ? 1 : 0;
}
}
