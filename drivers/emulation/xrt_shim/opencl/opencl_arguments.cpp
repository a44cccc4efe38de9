// SPDX-License-Identifier: Apache-2.0
//
// The OpenCL layer's report of an argument that libxilinxopencl refuses. The first card that checks
// and has the kernel tells it.
#include "emulation/opencl_layer/failures.h"
#include "emulation/xrt_shim/card/card.h"

void tandem_opencl_refused(const char* kernel, int argument, const char* message) {
  for (const auto& card : tandem::emulation::Card::all_open()) {
    tandem::emulation::BufferChecks* const checks = card->buffer_checks();
    if (checks != nullptr && checks->call_refused(kernel, argument, message)) return;
  }
}
