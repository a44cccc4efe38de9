// SPDX-License-Identifier: Apache-2.0
//
// The layer's calls that set arguments and start kernels. What libxilinxopencl refuses there is a
// finding: the shim, which knows the kernels of the cards, reports it.
#include <dlfcn.h>

#include <string>

#include "emulation/opencl_layer/failures.h"
#include "emulation/opencl_layer/layer.h"

namespace tandem::emulation {
namespace {

constexpr int kNoArgument = -1;

void tell_refused(cl_kernel kernel, int argument, const std::string& message) {
  static const auto tell = reinterpret_cast<decltype(&tandem_opencl_refused)>(
      dlsym(RTLD_DEFAULT, "tandem_opencl_refused"));
  char name[256] = {};
  if (tell == nullptr || target.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name) - 1,
                                                name, nullptr) != CL_SUCCESS) {
    return;
  }
  tell(name, argument, message.c_str());
}

cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  const cl_int code = target.clSetKernelArg(kernel, index, size, value);
  if (code == CL_SUCCESS || code == CL_INVALID_KERNEL) return code;
  const std::string what = code == CL_INVALID_ARG_INDEX
                               ? "the kernel has no such argument"
                               : "it is given " + std::to_string(size) + " bytes";
  tell_refused(kernel, static_cast<int>(index),
               "clSetKernelArg() refuses the argument " + std::to_string(index) + " with status " +
                   std::to_string(code) + ": " + what +
                   "; pass what the kernel takes, and look at the status");
  return code;
}

cl_int tell_of_start(cl_kernel kernel, cl_int code) {
  if (code == CL_INVALID_KERNEL_ARGS) {
    tell_refused(kernel, kNoArgument,
                 "the kernel does not start, because not all of its arguments are set (status " +
                     std::to_string(code) + "): call clSetKernelArg() for each of them");
  }
  return code;
}

cl_int CL_API_CALL start_task(cl_command_queue queue, cl_kernel kernel, cl_uint count,
                              const cl_event* events, cl_event* event) {
  return tell_of_start(kernel, target.clEnqueueTask(queue, kernel, count, events, event));
}

cl_int CL_API_CALL start_range(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                               const size_t* offset, const size_t* size, const size_t* group,
                               cl_uint count, const cl_event* events, cl_event* event) {
  return tell_of_start(kernel, target.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset,
                                                             size, group, count, events, event));
}

}  // namespace

void take_argument_calls(cl_icd_dispatch& layer) {
  layer.clSetKernelArg = set_argument;
  layer.clEnqueueTask = start_task;
  layer.clEnqueueNDRangeKernel = start_range;
}

}  // namespace tandem::emulation
