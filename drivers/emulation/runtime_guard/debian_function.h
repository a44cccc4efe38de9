// SPDX-License-Identifier: Apache-2.0
//
// debian_function: finds a function in Debian's libxrt_coreutil. The tree's library of the same
// name is loaded in front of it.
//
// RTLD_NEXT does not work here, because a program may have loaded the tree's library with dlopen().
// Errors: std::runtime_error with the name of the function. Threads: any.
#pragma once

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace tandem::emulation {

// `name`: the mangled name of the C++ ABI.
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
