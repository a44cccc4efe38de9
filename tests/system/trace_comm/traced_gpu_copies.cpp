// SPDX-License-Identifier: Apache-2.0
//
// A program of CUDA without CUDA: it loads the library that CUDA_INJECTION64_PATH names, as the
// driver does, and lets the fake CUPTI record its copies. Exits with 3 where it has no library.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

template <typename Function>
Function function_in(const char* library, const char* name) {
  void* const handle = library == nullptr ? nullptr : dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "traced_gpu_copies: %s\n", library == nullptr ? name : dlerror());
    std::exit(3);
  }
  return reinterpret_cast<Function>(dlsym(handle, name));
}

}  // namespace

int main() {
  const auto initialise =
      function_in<int (*)()>(std::getenv("CUDA_INJECTION64_PATH"), "InitializeInjection");
  if (initialise() != 1) return 4;
  function_in<void (*)()>("libcupti.so.13", "fake_cupti_work")();
  return 0;
}
