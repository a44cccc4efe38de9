// SPDX-License-Identifier: Apache-2.0
//
// A C++11 host program: OpenCL's C++ bindings alone, with XRT's names for memory banks, and HLS'
// numbers. It runs vadd with buffers that name their bank.
#include <ap_int.h>
#include <CL/cl2.hpp>

#include <fstream>
#include <iterator>

int scaled(int value);

namespace {

constexpr int kCount = 64;

cl::Buffer buffer_of(const cl::Context& context, int* values, cl_mem_flags flags) {
  cl_mem_ext_ptr_t place = {0, nullptr, nullptr};
  place.flags = XCL_MEM_DDR_BANK0;
  place.obj = values;
  return cl::Buffer(context, flags | CL_MEM_USE_HOST_PTR | CL_MEM_EXT_PTR_XILINX,
                    kCount * sizeof(int), &place);
}

cl::Device card() {
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  for (const cl::Platform& platform : platforms) {
    if (platform.getInfo<CL_PLATFORM_NAME>() != "Xilinx") continue;
    std::vector<cl::Device> devices;
    platform.getDevices(CL_DEVICE_TYPE_ACCELERATOR, &devices);
    return devices.at(0);
  }
  throw std::runtime_error("no card");
}

}  // namespace

int main(int, char** argv) {
  const cl::Device device = card();
  const cl::Context context(device);
  cl::CommandQueue queue(context, device);
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<unsigned char> bytes((std::istreambuf_iterator<char>(file)),
                                         std::istreambuf_iterator<char>());
  const cl::Program program(context, {device}, {bytes});
  cl::Kernel kernel(program, "vadd");
  alignas(4096) static int a[kCount], b[kCount], out[kCount];
  for (int i = 0; i < kCount; ++i) {
    a[i] = i;
    b[i] = ap_fixed<16, 12>(scaled(i)).to_int();
  }
  cl::Buffer left = buffer_of(context, a, CL_MEM_READ_ONLY);
  cl::Buffer right = buffer_of(context, b, CL_MEM_READ_ONLY);
  cl::Buffer sum = buffer_of(context, out, CL_MEM_WRITE_ONLY);
  kernel.setArg(0, left);
  kernel.setArg(1, right);
  kernel.setArg(2, sum);
  kernel.setArg(3, kCount);
  queue.enqueueMigrateMemObjects({left, right}, 0);
  queue.enqueueTask(kernel);
  queue.enqueueMigrateMemObjects({sum}, CL_MIGRATE_MEM_OBJECT_HOST);
  queue.finish();
  for (int i = 0; i < kCount; ++i) {
    if (out[i] != 4 * i) return std::printf("out[%d] is %d\n", i, out[i]), 1;
  }
  return std::printf("TEST PASSED\n"), 0;
}
