// SPDX-License-Identifier: Apache-2.0
//
// Exercises: profiling times of writes, kernels, migrations and reads: in order, within the time
// the host saw pass, one after the other where commands depend on each other; none without
// CL_QUEUE_PROFILING_ENABLE.
#include <chrono>

#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl2.hpp>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 100000;

struct Times {
  explicit Times(const cl::Event& event)
      : queued(event.getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>()),
        submitted(event.getProfilingInfo<CL_PROFILING_COMMAND_SUBMIT>()),
        started(event.getProfilingInfo<CL_PROFILING_COMMAND_START>()),
        ended(event.getProfilingInfo<CL_PROFILING_COMMAND_END>()) {
    CHECK(queued <= submitted);
    CHECK(submitted <= started);
    CHECK(started <= ended);
  }
  cl_ulong queued, submitted, started, ended;
};

void measure(const Arguments& arguments) {
  const cl::Device device(xilinx_devices().at(0));
  cl::Context context(device);
  const auto bytes = read_file(arguments.xclbin);
  cl::Program program(context, {device}, {{bytes.data(), bytes.size()}});
  cl::CommandQueue queue(context, device, CL_QUEUE_PROFILING_ENABLE);
  cl::Kernel scale(program, "scale");
  const auto values = numbers(kSize, 7);
  std::vector<int> results(kSize);
  cl::Buffer data(context, CL_MEM_READ_WRITE, kSize * 4);
  OCL(scale.setArg(0, data));
  OCL(scale.setArg(1, 2));
  OCL(scale.setArg(2, kSize));

  const auto begin = std::chrono::steady_clock::now();
  cl::Event write, launch, migration, read;
  OCL(queue.enqueueWriteBuffer(data, CL_FALSE, 0, kSize * 4, values.data(), nullptr, &write));
  OCL(queue.enqueueTask(scale, nullptr, &launch));
  OCL(queue.enqueueMigrateMemObjects({data}, CL_MIGRATE_MEM_OBJECT_HOST, nullptr, &migration));
  OCL(queue.enqueueReadBuffer(data, CL_FALSE, 0, kSize * 4, results.data(), nullptr, &read));
  OCL(queue.finish());
  const auto passed = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::steady_clock::now() - begin);

  const Times times[] = {Times(write), Times(launch), Times(migration), Times(read)};
  for (int index = 1; index < 4; ++index) CHECK(times[index - 1].ended <= times[index].started);
  CHECK(times[3].ended - times[0].queued <= static_cast<cl_ulong>(passed.count()));
  CHECK(times[1].ended > times[1].started);
  for (unsigned int i = 0; i < kSize; ++i) CHECK_EQ(results[i], values[i] * 2 + 1);

  cl::CommandQueue plain(context, device);
  cl::Event unmeasured;
  OCL(plain.enqueueTask(scale, nullptr, &unmeasured));
  OCL(plain.finish());
  cl_ulong time = 0;
  CHECK_EQ(unmeasured.getProfilingInfo(CL_PROFILING_COMMAND_START, &time),
           CL_PROFILING_INFO_NOT_AVAILABLE);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, measure); }
