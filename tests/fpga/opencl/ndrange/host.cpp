// SPDX-License-Identifier: Apache-2.0
//
// Exercises: clEnqueueNDRangeKernel of a C++ kernel: one work group per launch, several work groups
// that run the kernel as often, local sizes and offsets left out, sizes that are refused.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl2.hpp>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

constexpr unsigned int kSize = 50;
constexpr size_t kBytes = kSize * 4;

void launch(const Arguments& arguments) {
  const cl::Device device(xilinx_devices().at(0));
  const cl::Context context(device);
  const auto bytes = read_file(arguments.xclbin);
  const cl::Program program(context, {device}, {{bytes.data(), bytes.size()}});
  const cl::CommandQueue queue(context, device);
  cl::Kernel scale(program, "scale");
  const auto values = numbers(kSize, 2);
  cl::Buffer data(context, CL_MEM_READ_WRITE, kBytes);
  OCL(scale.setArg(0, data));
  OCL(scale.setArg(1, 2));
  OCL(scale.setArg(2, kSize));
  OCL(queue.enqueueWriteBuffer(data, CL_TRUE, 0, kBytes, values.data()));
  OCL(queue.enqueueNDRangeKernel(scale, cl::NullRange, cl::NDRange(1), cl::NDRange(1)));
  OCL(queue.enqueueNDRangeKernel(scale, cl::NDRange(0), cl::NDRange(1, 1, 1),
                                 cl::NDRange(1, 1, 1)));
  OCL(queue.enqueueNDRangeKernel(scale, cl::NullRange, cl::NDRange(3), cl::NDRange(1)));
  OCL(queue.enqueueNDRangeKernel(scale, cl::NullRange, cl::NDRange(2, 2), cl::NDRange(1, 1)));
  std::vector<int> results(kSize);
  OCL(queue.enqueueReadBuffer(data, CL_TRUE, 0, kBytes, results.data()));
  for (unsigned int i = 0; i < kSize; ++i) {
    int expected = values[i];
    for (int run = 0; run < 1 + 1 + 3 + 4; ++run) expected = expected * 2 + 1;
    CHECK_EQ(results[i], expected);
  }
  CHECK(queue.enqueueNDRangeKernel(scale, cl::NullRange, cl::NDRange(3), cl::NDRange(2)) !=
        CL_SUCCESS);
  CHECK(clEnqueueNDRangeKernel(queue(), scale(), 0, nullptr, nullptr, nullptr, 0, nullptr,
                               nullptr) != CL_SUCCESS);
  OCL(queue.finish());
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, launch); }
