// SPDX-License-Identifier: Apache-2.0
//
// A host program as OpenCL users write it: the first platform, the card by its name, one vadd.
#define CL_HPP_CL_1_2_DEFAULT_BUILD
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_ENABLE_PROGRAM_CONSTRUCTION_FROM_ARRAY_COMPATIBILITY 1
#include <CL/cl_ext_xilinx.h>
#include <CL/cl2.hpp>

#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  constexpr int kLength = 5000;
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  std::vector<cl::Device> devices;
  platforms.at(0).getDevices(CL_DEVICE_TYPE_ACCELERATOR, &devices);
  const auto name = devices.at(0).getInfo<CL_DEVICE_NAME>();
  std::cout << "card: " << name.c_str() << std::endl;
  if (std::string(name.c_str()) != argv[2]) {
    std::cout << "TEST FAILED: the card is not " << argv[2] << std::endl;
    return 1;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<unsigned char> bytes{std::istreambuf_iterator<char>(file),
                                         std::istreambuf_iterator<char>()};
  cl::Context context(devices[0]);
  cl::CommandQueue queue(context, devices[0]);
  cl::Program program(context, {devices[0]}, cl::Program::Binaries{{bytes.data(), bytes.size()}});
  cl::Kernel vadd(program, "vadd");
  std::vector<unsigned> a(kLength), b(kLength), out(kLength);
  for (int i = 0; i < kLength; ++i) {
    a[i] = static_cast<unsigned>(5 * i);
    b[i] = static_cast<unsigned>(i + 3);
  }
  const size_t size = kLength * sizeof(unsigned);
  cl::Buffer a_buffer(context, CL_MEM_READ_ONLY, size);
  cl::Buffer b_buffer(context, CL_MEM_READ_ONLY, size);
  cl::Buffer out_buffer(context, CL_MEM_WRITE_ONLY, size);
  vadd.setArg(0, a_buffer);
  vadd.setArg(1, b_buffer);
  vadd.setArg(2, out_buffer);
  vadd.setArg(3, kLength);
  queue.enqueueWriteBuffer(a_buffer, CL_TRUE, 0, size, a.data());
  queue.enqueueWriteBuffer(b_buffer, CL_TRUE, 0, size, b.data());
  queue.enqueueTask(vadd);
  queue.enqueueReadBuffer(out_buffer, CL_TRUE, 0, size, out.data());
  for (int i = 0; i < kLength; ++i) {
    if (out[i] == static_cast<unsigned>(6 * i + 3)) continue;
    std::cout << "TEST FAILED: out[" << i << "] is " << out[i] << ", not " << 6 * i + 3
              << std::endl;
    return 1;
  }
  std::cout << "TEST PASSED" << std::endl;
  return 0;
}
