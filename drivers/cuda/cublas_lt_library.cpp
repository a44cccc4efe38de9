// SPDX-License-Identifier: Apache-2.0
//
// dlopen once, with the reason kept where it fails. The library's major version is that of the
// header, whose structs it must share.
#include "cuda/cublas_lt_library.h"

#include <dlfcn.h>

#include <string>

#include "common/error.h"

namespace tandem::cuda {
namespace {

struct Loaded {
  CublasLt functions;
  std::string reason;

  Loaded() {
    const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed
    if (handle == nullptr) {
      reason = dlerror();
      return;
    }
    find(handle, "cublasLtCreate", functions.create);
    find(handle, "cublasLtDestroy", functions.destroy);
    find(handle, "cublasLtMatmulDescCreate", functions.create_description);
    find(handle, "cublasLtMatmulDescDestroy", functions.destroy_description);
    find(handle, "cublasLtMatmulDescSetAttribute", functions.set_description);
    find(handle, "cublasLtMatrixLayoutCreate", functions.create_layout);
    find(handle, "cublasLtMatrixLayoutDestroy", functions.destroy_layout);
    find(handle, "cublasLtMatmulPreferenceCreate", functions.create_preference);
    find(handle, "cublasLtMatmulPreferenceDestroy", functions.destroy_preference);
    find(handle, "cublasLtMatmulPreferenceSetAttribute", functions.set_preference);
    find(handle, "cublasLtMatmulAlgoGetHeuristic", functions.find_algorithm);
    find(handle, "cublasLtMatmul", functions.matmul);
  }

  template <typename Function>
  void find(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (function == nullptr) reason = std::string("it has no ") + name;
  }
};

}  // namespace

const CublasLt& cublas_lt() {
  static const Loaded loaded;
  if (!loaded.reason.empty()) {
    throw Error("cuda", "cuBLASLt cannot be used: " + loaded.reason +
                            "; install libcublas of the CUDA toolkit, or compute on cpu");
  }
  return loaded.functions;
}

}  // namespace tandem::cuda
