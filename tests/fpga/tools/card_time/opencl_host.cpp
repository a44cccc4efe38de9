// SPDX-License-Identifier: Apache-2.0
//
// opencl_host XCLBIN KERNEL COUNT: runs the kernel twice and prints the nanoseconds that its
// events' profiling times state.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

int main(int, char** arguments) {
  std::ifstream file(arguments[1], std::ios::binary);
  const std::vector<unsigned char> binary{std::istreambuf_iterator<char>(file), {}};
  const int count = std::atoi(arguments[3]);
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  clGetPlatformIDs(1, &platform, nullptr);
  clGetDeviceIDs(platform, CL_DEVICE_TYPE_ACCELERATOR, 1, &device, nullptr);
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  cl_command_queue queue =
      clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, nullptr);
  const unsigned char* bytes = binary.data();
  const size_t size = binary.size();
  cl_program program =
      clCreateProgramWithBinary(context, 1, &device, &size, &bytes, nullptr, nullptr);
  cl_kernel kernel = clCreateKernel(program, arguments[2], nullptr);
  for (cl_uint index = 0; index < 3; ++index) {
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE,
                                   sizeof(int) * static_cast<size_t>(count), nullptr, nullptr);
    clSetKernelArg(kernel, index, sizeof(buffer), &buffer);
  }
  clSetKernelArg(kernel, 3, sizeof(count), &count);
  for (int run = 0; run < 2; ++run) {
    cl_event event = nullptr;
    clEnqueueTask(queue, kernel, 0, nullptr, &event);
    clWaitForEvents(1, &event);
    cl_ulong start = 0, end = 0;
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, nullptr);
    clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, nullptr);
    std::printf("%llu\n", static_cast<unsigned long long>(end - start));
    clReleaseEvent(event);
  }
  return 0;
}
