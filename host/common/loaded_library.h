// SPDX-License-Identifier: Apache-2.0
//
// LoadedLibrary: a shared library that a program loads at run time, and its functions by name.
//
// The program starts without the library. Once loaded, it stays loaded. A failure is not thrown:
// reason() explains it to the user. Threads: one for construction and find(), then any. Errors:
// none.
#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>

namespace tandem {

class LoadedLibrary {
 public:
  // `product`: the common name, such as "NCCL". `file`: such as "libnccl.so.2".
  LoadedLibrary(const std::string& product, std::string file) : file_(std::move(file)) {
    handle_ = dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) reason_ = product + " cannot be loaded: " + dlerror();
  }

  // Null if the library has no such function: an older or newer version.
  template <typename Function>
  Function find_optional(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle_, name));
  }

  // Finds a function that the library must have; if it is absent, reason() says so.
  template <typename Function>
  void find(const char* name, Function& function) {
    function = find_optional<Function>(name);
    if (function == nullptr && handle_ != nullptr) {
      reason_ = file_ + " is too old: it has no " + name;
    }
  }

  // The reason why the library cannot be used; empty if it can be used.
  const std::string& reason() const { return reason_; }

 private:
  const std::string file_;
  void* handle_ = nullptr;
  std::string reason_;
};

}  // namespace tandem
