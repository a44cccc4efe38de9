// SPDX-License-Identifier: Apache-2.0
//
// Measures what OpenCL does not report: memory bandwidth, link bandwidth, and the latency of a
// command.
//
// Cost: about 0.1 s, and 64 MiB of device memory during that time. The best of a few runs counts,
// because other load only slows a run. Errors: DeviceError when the device fails. Threads: one.
#pragma once

#include "opencl/session.h"

namespace tandem::opencl {

struct MeasuredSpeed {
  double read_bytes_per_s = 0;  // device memory, read by kernels
  double link_bytes_per_s = 0;  // host to device; 0 if they share memory
  double latency_us = 0;        // time to write a few bytes and to read them back
};

MeasuredSpeed measure_speed(const Session& session);

}  // namespace tandem::opencl
