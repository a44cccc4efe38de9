// SPDX-License-Identifier: Apache-2.0
//
// XRT's C API of the shim, for functions that XRT's C++ classes hide or forbid.
#pragma once

#include <dlfcn.h>
#include <xrt.h>
#include <xrt/xrt_device.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tandem::emulation_test {

// The shim's function `name`: shim_function<decltype(xclOpen)>("xclOpen").
template <typename Function>
Function* shim_function(const char* name) {
  static void* const shim = dlopen(TANDEM_XRT_TREE "/lib/libxrt_core.so.2", RTLD_NOW);
  void* const function = shim == nullptr ? nullptr : dlsym(shim, name);
  if (function == nullptr) throw std::runtime_error(std::string("the shim has no ") + name);
  return reinterpret_cast<Function*>(function);
}

#define TANDEM_SHIM(function) \
  (tandem::emulation_test::shim_function<decltype(::function)>(#function))

// Of the card's memory.
inline uint64_t free_bytes(const xrt::device& device) {
  xclDeviceInfo2 info;
  TANDEM_SHIM(xclGetDeviceInfo2)(static_cast<xclDeviceHandle>(device), &info);
  return info.mDDRFreeSize;
}

}  // namespace tandem::emulation_test
