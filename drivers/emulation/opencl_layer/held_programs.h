// SPDX-License-Identifier: Apache-2.0
//
// The programs that the application holds, by references of its own or through its kernels, and
// the cards they are on.
//
// libxilinxopencl counts its own references along with the application's and tells only the sum,
// so the layer counts what passes through it. Handles it was not told of are ignored. References
// are dropped here before the library drops them: what is not held any more may be waited for.
// Threads: any.
#pragma once

#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace tandem::emulation {

class HeldPrograms {
 public:
  // A reference to a program on `cards`; the library may return one program several times.
  void add(cl_program program, const std::vector<cl_device_id>& cards);
  void retain(cl_program program);
  void release(cl_program program);

  // A reference to a kernel, which holds its program until the last one is released.
  void add(cl_kernel kernel, cl_program program);
  void retain(cl_kernel kernel);
  void release(cl_kernel kernel);

  bool any_on(cl_device_id card) const;

 private:
  struct Program {
    uint64_t references = 0;
    std::vector<cl_device_id> cards;
  };
  struct Kernel {
    uint64_t references = 0;
    cl_program program = nullptr;
  };

  void drop(cl_program program);

  mutable std::mutex mutex_;
  std::unordered_map<cl_program, Program> programs_;
  std::unordered_map<cl_kernel, Kernel> kernels_;
};

}  // namespace tandem::emulation
