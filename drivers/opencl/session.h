// SPDX-License-Identifier: Apache-2.0
//
// Session: one OpenCL device with its context and one in-order command queue; and the list of
// usable devices.
//
// Usable: a CPU or GPU device, little-endian, available, with a compiler, OpenCL 1.2 or later.
// Accelerators are left out: an FPGA card belongs to the xrt backend. Ownership: a value type of
// reference-counted handles. Threads: the API is thread-safe; kernels are not shared. Errors:
// usable_devices() never throws; open_session() throws DeviceError.
#pragma once

#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/deadline.h"
#include "device/attention_unit.h"
#include "device/device.h"

namespace tandem::opencl {

struct Session {
  cl::Device device;
  cl::Context context;
  cl::CommandQueue queue;    // in order; all work
  cl::CommandQueue mapping;  // maps host memory without waiting for that work
};

std::vector<cl::Device> usable_devices();

Session open_session(const cl::Device& device);

// `index` as in the id "opencl:<index>". Bandwidths are unknown (0) until measured.
device::DeviceInfo describe(const cl::Device& device, int index);

// True when the device's memory is the host's.
bool shares_host_memory(const cl::Device& device);

cl::Program build_program(const Session& session, const char* source, const std::string& options);

// Polls an event until the deadline, with pauses that grow. A failed command is kLost.
device::WaitResult wait_for_event(const cl::Event& event, Deadline deadline);

// kDone when every event of an in-order queue's commands has succeeded. Commands that were not
// enqueued (null events) are skipped.
device::WaitResult wait_for_events(std::span<const cl::Event> events, Deadline deadline);

// "clEnqueueNDRangeKernel failed (-5)".
std::string error_text(const cl::Error& error);

}  // namespace tandem::opencl
