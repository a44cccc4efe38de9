// SPDX-License-Identifier: Apache-2.0
//
// Exercises: two kernels that a stream joins, started as two commands of an out-of-order queue; the
// consumer may start first; the stream is no argument the host sets.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl2.hpp>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 10000;
constexpr size_t kBytes = kSize * 4;

void join(const Arguments& arguments) {
  const cl::Device device(xilinx_devices().at(0));
  const cl::Context context(device);
  const auto bytes = read_file(arguments.xclbin);
  const cl::Program program(context, {device}, {{bytes.data(), bytes.size()}});
  const cl::CommandQueue queue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cl::Kernel reader(program, "reader"), adder(program, "adder");
  const auto a = numbers(kSize, 6), b = numbers(kSize, 7);
  cl::Buffer a_buffer(context, CL_MEM_READ_ONLY, kBytes);
  cl::Buffer b_buffer(context, CL_MEM_READ_ONLY, kBytes);
  cl::Buffer out(context, CL_MEM_WRITE_ONLY, kBytes);
  OCL(reader.setArg(0, a_buffer));
  OCL(reader.setArg(2, kSize));
  OCL(adder.setArg(1, b_buffer));
  OCL(adder.setArg(2, out));
  OCL(adder.setArg(3, kSize));
  OCL(queue.enqueueWriteBuffer(a_buffer, CL_TRUE, 0, kBytes, a.data()));
  OCL(queue.enqueueWriteBuffer(b_buffer, CL_TRUE, 0, kBytes, b.data()));
  for (int round = 0; round < 10; ++round) {
    OCL(queue.enqueueTask(round % 2 == 0 ? adder : reader));
    OCL(queue.enqueueTask(round % 2 == 0 ? reader : adder));
    OCL(queue.finish());
    std::vector<int> sums(kSize);
    OCL(queue.enqueueReadBuffer(out, CL_TRUE, 0, kBytes, sums.data()));
    check_sums(sums.data(), a, b);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, join); }
