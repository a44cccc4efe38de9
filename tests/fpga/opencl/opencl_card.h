// SPDX-License-Identifier: Apache-2.0
//
// Shared by the OpenCL programs of the corpus: the Xilinx devices, the bytes of an xclbin, owned
// handles, and a macro that turns an error code into an exception.
//
// Works with the C interface and with either C++ binding, whichever the program includes first.
#pragma once

#include <CL/cl.h>
#include <CL/cl_ext_xilinx.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "application.h"

#define OCL(call) tandem::fpga_test::require_success((call), #call, __LINE__)

namespace tandem::fpga_test {

inline void require_success(cl_int code, const char* call, int line) {
  if (code == CL_SUCCESS) return;
  throw std::runtime_error("line " + std::to_string(line) + ": " + call + " gives " +
                           std::to_string(code));
}

template <auto Release>
struct Releaser {
  template <typename T>
  void operator()(T* object) const {
    Release(object);
  }
};
using Context = std::unique_ptr<_cl_context, Releaser<clReleaseContext>>;
using Queue = std::unique_ptr<_cl_command_queue, Releaser<clReleaseCommandQueue>>;
using Program = std::unique_ptr<_cl_program, Releaser<clReleaseProgram>>;
using Kernel = std::unique_ptr<_cl_kernel, Releaser<clReleaseKernel>>;
using Memory = std::unique_ptr<_cl_mem, Releaser<clReleaseMemObject>>;
using Event = std::unique_ptr<_cl_event, Releaser<clReleaseEvent>>;

inline std::string platform_name(cl_platform_id platform) {
  char name[128] = {};
  OCL(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, nullptr));
  return name;
}

inline std::vector<cl_platform_id> all_platforms() {
  cl_uint count = 0;
  OCL(clGetPlatformIDs(0, nullptr, &count));
  std::vector<cl_platform_id> platforms(count);
  OCL(clGetPlatformIDs(count, platforms.data(), nullptr));
  return platforms;
}

inline cl_platform_id xilinx_platform() {
  for (cl_platform_id platform : all_platforms()) {
    if (platform_name(platform) == "Xilinx") return platform;
  }
  throw std::runtime_error("there is no platform named Xilinx");
}

inline std::vector<cl_device_id> xilinx_devices() {
  cl_uint count = 0;
  cl_platform_id platform = xilinx_platform();
  OCL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ACCELERATOR, 0, nullptr, &count));
  std::vector<cl_device_id> devices(count);
  OCL(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ACCELERATOR, count, devices.data(), nullptr));
  return devices;
}

// A function of the vendor's extension, found as programs without -lxilinxopencl find it.
template <typename Function>
Function* extension(Function*, const char* name) {
  void* address = clGetExtensionFunctionAddressForPlatform(xilinx_platform(), name);
  if (address == nullptr) throw std::runtime_error(std::string("no function ") + name);
  return reinterpret_cast<Function*>(address);
}
#define OCL_EXTENSION(function) \
  tandem::fpga_test::extension(static_cast<decltype(&(function))>(nullptr), #function)

inline std::vector<unsigned char> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A device with a program, for programs in C.
struct LoadedCard {
  explicit LoadedCard(const std::string& xclbin, size_t index = 0)
      : device(xilinx_devices().at(index)) {
    cl_int code = CL_SUCCESS;
    context.reset(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code));
    OCL(code);
    const std::vector<unsigned char> bytes = read_file(xclbin);
    const unsigned char* data = bytes.data();
    const size_t size = bytes.size();
    program.reset(
        clCreateProgramWithBinary(context.get(), 1, &device, &size, &data, nullptr, &code));
    OCL(code);
  }

  Queue queue(cl_command_queue_properties properties = 0) const {
    cl_int code = CL_SUCCESS;
    Queue made(clCreateCommandQueue(context.get(), device, properties, &code));
    OCL(code);
    return made;
  }
  Kernel kernel(const char* name) const {
    cl_int code = CL_SUCCESS;
    Kernel made(clCreateKernel(program.get(), name, &code));
    OCL(code);
    return made;
  }
  Memory buffer(cl_mem_flags flags, size_t bytes, void* host = nullptr) const {
    cl_int code = CL_SUCCESS;
    Memory made(clCreateBuffer(context.get(), flags, bytes, host, &code));
    OCL(code);
    return made;
  }

  cl_device_id device;
  Context context;
  Program program;
};

// Arguments in their order, starting at `first`.
template <typename... Values>
void set_arguments(cl_kernel kernel, const Values&... values) {
  cl_uint index = 0;
  (OCL(clSetKernelArg(kernel, index++, sizeof(values), &values)), ...);
}

// Values that differ from buffer to buffer.
inline std::vector<int> numbers(size_t count, int seed) {
  std::vector<int> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<int>(i) * (seed + 2) - 1000 * seed;
  return values;
}

inline void check_sums(const int* sums, const std::vector<int>& a, const std::vector<int>& b) {
  for (size_t i = 0; i < a.size(); ++i) CHECK_EQ(sums[i], a[i] + b[i]);
}

}  // namespace tandem::fpga_test
