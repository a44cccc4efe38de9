// SPDX-License-Identifier: Apache-2.0
//
// HeldPrograms: the programs that the application references, directly or through kernels, and
// their cards.
//
// libxilinxopencl adds its own references and reports only the sum, so the layer counts the calls
// of the application. Unknown handles are ignored. A reference is removed here before the library
// removes it, so a caller may wait for the end of a program that is not held here. Threads: any.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "emulation/opencl_layer/opencl_api.h"

namespace tandem::emulation {

class HeldPrograms {
 public:
  // A reference to a program on `cards`; the library may return one program several times.
  void add(cl_program program, const std::vector<cl_device_id>& cards);
  // A reference to a kernel, which holds its program until the last one is released.
  void add(cl_kernel kernel, cl_program program);
  // One reference more or less to a program or a kernel.
  void retain(const void* handle);
  void release(const void* handle);

  bool any_on(cl_device_id card) const;
  bool empty() const;

 private:
  struct Held {
    uint64_t references = 0;
    std::vector<cl_device_id> cards;  // of a program
    cl_program program = nullptr;     // of a kernel
  };

  void drop(const void* handle);

  mutable std::mutex mutex_;
  std::unordered_map<const void*, Held> held_;
};

}  // namespace tandem::emulation
