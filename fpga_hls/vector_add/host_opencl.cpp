// SPDX-License-Identifier: Apache-2.0
//
// Vector addition through OpenCL: vadd_opencl <xclbin>. Prints TEST PASSED.
//
// An ordinary OpenCL program for FPGA cards: a binary program, buffers, one task. Runs on a card
// and on an emulated one.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kLength = 100000;

void check(cl_int code, const char* what) {
  if (code != CL_SUCCESS)
    throw std::runtime_error(std::string(what) + ": error " + std::to_string(code));
}

cl_device_id find_accelerator() {
  cl_uint num_platforms = 0;
  check(clGetPlatformIDs(0, nullptr, &num_platforms), "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(num_platforms);
  check(clGetPlatformIDs(num_platforms, platforms.data(), nullptr), "clGetPlatformIDs");
  for (cl_platform_id platform : platforms) {
    char name[128] = {};
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, nullptr);
    cl_device_id device = nullptr;
    if (std::string(name) == "Xilinx" &&
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ACCELERATOR, 1, &device, nullptr) == CL_SUCCESS) {
      return device;
    }
  }
  throw std::runtime_error("no Xilinx accelerator found");
}

std::vector<unsigned char> read_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(std::string("cannot read ") + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

int run(const char* xclbin_path) {
  cl_int code = CL_SUCCESS;
  cl_device_id device = find_accelerator();
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  check(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check(code, "clCreateCommandQueue");
  const std::vector<unsigned char> binary = read_file(xclbin_path);
  const unsigned char* binary_data = binary.data();
  const size_t binary_size = binary.size();
  cl_int status = CL_SUCCESS;
  cl_program program =
      clCreateProgramWithBinary(context, 1, &device, &binary_size, &binary_data, &status, &code);
  check(code, "clCreateProgramWithBinary");
  cl_kernel kernel = clCreateKernel(program, "vadd", &code);
  check(code, "clCreateKernel");

  std::vector<uint32_t> a(kLength), b(kLength), out(kLength, 0xdeadbeef);
  for (uint32_t i = 0; i < kLength; ++i) {
    a[i] = 7 * i;
    b[i] = 1000000u - i;
  }
  const size_t bytes = kLength * sizeof(uint32_t);
  cl_mem buffers[3];
  for (int index = 0; index < 3; ++index) {
    buffers[index] = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, nullptr, &code);
    check(code, "clCreateBuffer");
    check(clSetKernelArg(kernel, static_cast<cl_uint>(index), sizeof(cl_mem), &buffers[index]),
          "clSetKernelArg");
  }
  check(clSetKernelArg(kernel, 3, sizeof(kLength), &kLength), "clSetKernelArg");
  const uint32_t* sources[3] = {a.data(), b.data(), out.data()};
  for (int index = 0; index < 3; ++index) {
    check(clEnqueueWriteBuffer(queue, buffers[index], CL_TRUE, 0, bytes, sources[index], 0, nullptr,
                               nullptr),
          "clEnqueueWriteBuffer");
  }
  check(clEnqueueTask(queue, kernel, 0, nullptr, nullptr), "clEnqueueTask");
  check(clEnqueueReadBuffer(queue, buffers[2], CL_TRUE, 0, bytes, out.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  check(clFinish(queue), "clFinish");
  int result = EXIT_SUCCESS;
  for (uint32_t i = 0; i < kLength && result == EXIT_SUCCESS; ++i) {
    if (out[i] == a[i] + b[i]) continue;
    std::printf("TEST FAILED: out[%u] is %u, not %u\n", i, out[i], a[i] + b[i]);
    result = EXIT_FAILURE;
  }
  for (cl_mem buffer : buffers) clReleaseMemObject(buffer);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  if (result == EXIT_SUCCESS) std::printf("TEST PASSED\n");
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s <xclbin>\n", argv[0]);
    return EXIT_FAILURE;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception& error) {
    std::printf("TEST FAILED: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
