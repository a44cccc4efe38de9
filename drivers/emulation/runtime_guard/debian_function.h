// SPDX-License-Identifier: Apache-2.0
//
// Functions of Debian's libxrt_coreutil, which the tree's library of that name stands before.
//
// RTLD_NEXT does not do: a program may have loaded the tree's library with dlopen(). Errors:
// std::runtime_error naming the function. Threads: any.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace tandem::emulation {

// `name`: as the C++ ABI of Linux spells it.
template <typename Function>
Function* debian_function(const char* name) {
  static void* const library = dlopen(TANDEM_XRT_COREUTIL, RTLD_LAZY | RTLD_NOLOAD);
  void* const address = library == nullptr ? nullptr : dlsym(library, name);
  if (address == nullptr) {
    throw std::runtime_error(std::string("[xrt] " TANDEM_XRT_COREUTIL " has no function ") + name +
                             ": install Debian 12's libxrt1 and build Tandem again");
  }
  return reinterpret_cast<Function*>(address);
}

}  // namespace tandem::emulation
