// SPDX-License-Identifier: Apache-2.0
//
// Timed reads of a 64 MiB buffer, timed writes to it, and a timed empty round trip.
//
// The buffer is larger than most last-level caches' share of one process; a device with a larger
// cache appears faster than its memory. Host clocks measure: event profiling would need another
// queue.
#include "opencl/bandwidth.h"

#include <algorithm>
#include <vector>

#include "common/error.h"
#include "opencl/kernel_sources.h"

namespace tandem::opencl {
namespace {

constexpr std::size_t kBytes = std::size_t{64} << 20;
constexpr std::size_t kVectorBytes = 16;  // uint4
constexpr int kRuns = 5;

template <typename Work>
double best_seconds(int runs, Work work) {
  double best = 1e30;
  for (int i = 0; i < runs; ++i) {
    const auto start = Deadline::Clock::now();
    work();
    const std::chrono::duration<double> took = Deadline::Clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

double read_seconds(const Session& session, const cl::Buffer& buffer) {
  const std::size_t lanes = session.device.getInfo<CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT>();
  const std::size_t local = lanes > 1 ? 1 : 64;
  const std::size_t groups = session.device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>() * 8;
  const std::size_t vectors = kBytes / kVectorBytes / groups;
  cl::Kernel kernel(build_program(session, kBandwidthSource, ""), "read_all");
  const cl::Buffer sums(session.context, CL_MEM_READ_WRITE, groups * local * sizeof(cl_uint));
  kernel.setArg(0, buffer);
  kernel.setArg(1, sums);
  kernel.setArg(2, static_cast<cl_uint>(vectors));
  const double seconds = best_seconds(kRuns, [&] {
    session.queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(groups * local),
                                       cl::NDRange(local));
    session.queue.finish();
  });
  return seconds * (static_cast<double>(kBytes) / (vectors * groups * kVectorBytes));
}

}  // namespace

MeasuredSpeed measure_speed(const Session& session) {
  try {
    std::vector<std::byte> host(kBytes);
    const cl::Buffer buffer(session.context, CL_MEM_READ_WRITE, kBytes);
    const auto write = [&](std::size_t bytes) {
      session.queue.enqueueWriteBuffer(buffer, CL_TRUE, 0, bytes, host.data());
    };
    write(kBytes);
    MeasuredSpeed speed;
    speed.read_bytes_per_s = kBytes / read_seconds(session, buffer);
    if (!shares_host_memory(session.device)) {
      speed.link_bytes_per_s = kBytes / best_seconds(kRuns, [&] { write(kBytes); });
    }
    speed.latency_us = 1e6 * best_seconds(4 * kRuns, [&] {
                         session.queue.enqueueWriteBuffer(buffer, CL_FALSE, 0, 64, host.data());
                         session.queue.enqueueReadBuffer(buffer, CL_TRUE, 0, 64, host.data());
                       });
    return speed;
  } catch (const cl::Error& error) {
    throw DeviceError("opencl", "measuring the device: " + error_text(error));
  }
}

}  // namespace tandem::opencl
