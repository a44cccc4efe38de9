// SPDX-License-Identifier: Apache-2.0
//
// The functions of libcublasLt by their own names. The library's major version is that of the
// header, whose structs it must share.
#include "cuda/cublas_lt_library.h"

#include <cublasLt.h>
#include <dlfcn.h>

namespace tandem::cuda {
namespace {

struct Loaded {
  void* handle = nullptr;
  std::string reason;

  Loaded() {
    const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
    handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) reason = "cuBLASLt cannot be loaded: " + std::string(dlerror());
  }
};

const Loaded& library() {
  static const Loaded loaded;  // never closed: kernels of it may run to the end
  return loaded;
}

template <typename Function>
Function* find(const char* name) {
  return library().handle == nullptr ? nullptr
                                     : reinterpret_cast<Function*>(dlsym(library().handle, name));
}

template <typename Function, typename... Arguments>
cublasStatus_t hand_on(Function* function, Arguments... arguments) {
  return function == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : function(arguments...);
}

}  // namespace

const std::string& reason_without_cublas_lt() { return library().reason; }

}  // namespace tandem::cuda

using tandem::cuda::find;
using tandem::cuda::hand_on;

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static auto* const call = find<decltype(cublasLtCreate)>("cublasLtCreate");
  return hand_on(call, handle);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  static auto* const call = find<decltype(cublasLtDestroy)>("cublasLtDestroy");
  return hand_on(call, handle);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  static auto* const call = find<decltype(cublasLtMatmulDescCreate)>("cublasLtMatmulDescCreate");
  return hand_on(call, description, compute, scale);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  static auto* const call = find<decltype(cublasLtMatmulDescDestroy)>("cublasLtMatmulDescDestroy");
  return hand_on(call, description);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  static auto* const call =
      find<decltype(cublasLtMatmulDescSetAttribute)>("cublasLtMatmulDescSetAttribute");
  return hand_on(call, description, attribute, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t stride) {
  static auto* const call =
      find<decltype(cublasLtMatrixLayoutCreate)>("cublasLtMatrixLayoutCreate");
  return hand_on(call, layout, type, rows, columns, stride);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  static auto* const call =
      find<decltype(cublasLtMatrixLayoutDestroy)>("cublasLtMatrixLayoutDestroy");
  return hand_on(call, layout);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  static auto* const call =
      find<decltype(cublasLtMatmulPreferenceCreate)>("cublasLtMatmulPreferenceCreate");
  return hand_on(call, preference);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  static auto* const call =
      find<decltype(cublasLtMatmulPreferenceDestroy)>("cublasLtMatmulPreferenceDestroy");
  return hand_on(call, preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  static auto* const call =
      find<decltype(cublasLtMatmulPreferenceSetAttribute)>("cublasLtMatmulPreferenceSetAttribute");
  return hand_on(call, preference, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  static auto* const call =
      find<decltype(cublasLtMatmulAlgoGetHeuristic)>("cublasLtMatmulAlgoGetHeuristic");
  return hand_on(call, handle, description, a, b, c, d, preference, wanted, results, found);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  static auto* const call = find<decltype(cublasLtMatmul)>("cublasLtMatmul");
  return hand_on(call, handle, description, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
                 d_layout, algorithm, workspace, workspace_bytes, stream);
}
