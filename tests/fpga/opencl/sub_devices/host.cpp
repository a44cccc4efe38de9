// SPDX-License-Identifier: Apache-2.0
//
// Exercises: clCreateSubDevices: a sub-device per compute unit, each with a context and a queue of
// its own and the program of the whole, running on its unit alone; partitions that are refused.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl2.hpp>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 500;
constexpr size_t kBytes = kSize * 4;

void run_on(const cl::Device& part, const cl::Context& context, const cl::Program& program,
            int seed) {
  cl::CommandQueue queue(context, part);
  cl::Kernel vadd(program, "vadd");
  const auto a = numbers(kSize, seed), b = numbers(kSize, seed + 1);
  cl::Buffer a_buffer(context, CL_MEM_READ_ONLY, kBytes);
  cl::Buffer b_buffer(context, CL_MEM_READ_ONLY, kBytes);
  cl::Buffer out(context, CL_MEM_WRITE_ONLY, kBytes);
  OCL(vadd.setArg(0, a_buffer));
  OCL(vadd.setArg(1, b_buffer));
  OCL(vadd.setArg(2, out));
  OCL(vadd.setArg(3, kSize));
  OCL(queue.enqueueWriteBuffer(a_buffer, CL_TRUE, 0, kBytes, a.data()));
  OCL(queue.enqueueWriteBuffer(b_buffer, CL_TRUE, 0, kBytes, b.data()));
  OCL(queue.enqueueTask(vadd));
  OCL(queue.enqueueBarrier());  // deprecated, and called by programs all the same
  std::vector<int> sums(kSize);
  OCL(queue.enqueueReadBuffer(out, CL_TRUE, 0, kBytes, sums.data()));
  check_sums(sums.data(), a, b);
}

void check_refusals(cl::Device& whole) {
  std::vector<cl::Device> parts;
  const cl_device_partition_property by_two[] = {CL_DEVICE_PARTITION_EQUALLY, 2, 0};
  CHECK_EQ(whole.createSubDevices(by_two, &parts), CL_INVALID_VALUE);
  const cl_device_partition_property by_counts[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1,
                                                    CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
  CHECK_EQ(whole.createSubDevices(by_counts, &parts), CL_INVALID_VALUE);
}

void partition(const Arguments& arguments) {
  cl::Device whole(xilinx_devices().at(0));
  const cl::Context context(whole);
  const auto bytes = read_file(arguments.xclbin);
  const cl::Program program(context, {whole}, {{bytes.data(), bytes.size()}});
  check_refusals(whole);
  const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  std::vector<cl::Device> parts;
  OCL(whole.createSubDevices(equally, &parts));
  CHECK_EQ(parts.size(), 2u);
  for (const cl::Device& part : parts) {
    CHECK_EQ(part.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>(), 1u);
    CHECK(part.getInfo<CL_DEVICE_PARENT_DEVICE>()() == whole());
  }
  int seed = 0;
  for (const cl::Device& part : parts) run_on(part, cl::Context(part), program, ++seed);
  run_on(whole, context, program, 7);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, partition); }
