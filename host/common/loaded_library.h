// SPDX-License-Identifier: Apache-2.0
//
// LoadedLibrary: a shared library that is loaded when it is asked for, so that programs start
// without it, and its functions by name.
//
// The library stays loaded. What fails is kept as a reason, in words for a person. Threads: one
// while it is made and searched, then any. Errors: none.
#pragma once

#include <dlfcn.h>

#include <string>
#include <utility>

namespace tandem {

class LoadedLibrary {
 public:
  // `product`: as people call it, "NCCL"; `file`: "libnccl.so.2".
  LoadedLibrary(const std::string& product, std::string file) : file_(std::move(file)) {
    handle_ = dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) reason_ = product + " cannot be loaded: " + dlerror();
  }

  // Null where there is none: an older or newer library.
  template <typename Function>
  Function find_optional(const char* name) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle_, name));
  }

  // Without it the library cannot be used.
  template <typename Function>
  void find(const char* name, Function& function) {
    function = find_optional<Function>(name);
    if (function == nullptr && handle_ != nullptr) {
      reason_ = file_ + " is too old: it has no " + name;
    }
  }

  // Why the library cannot be used; empty where it can.
  const std::string& reason() const { return reason_; }

 private:
  const std::string file_;
  void* handle_ = nullptr;
  std::string reason_;
};

}  // namespace tandem
