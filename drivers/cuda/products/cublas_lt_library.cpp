// SPDX-License-Identifier: Apache-2.0
//
// Loaded once. The library's major version is that of the header, whose structs it must share.
#include "cuda/products/cublas_lt_library.h"

#include <string>

#include "common/error.h"
#include "common/loaded_library.h"

namespace tandem::cuda {
namespace {

struct Loaded {
  CublasLt functions;
  LoadedLibrary library{"cuBLASLt", "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR)};

  Loaded() {
    library.find("cublasLtCreate", functions.create);
    library.find("cublasLtDestroy", functions.destroy);
    library.find("cublasLtMatmulDescCreate", functions.create_description);
    library.find("cublasLtMatmulDescDestroy", functions.destroy_description);
    library.find("cublasLtMatmulDescSetAttribute", functions.set_description);
    library.find("cublasLtMatrixLayoutCreate", functions.create_layout);
    library.find("cublasLtMatrixLayoutDestroy", functions.destroy_layout);
    library.find("cublasLtMatmulPreferenceCreate", functions.create_preference);
    library.find("cublasLtMatmulPreferenceDestroy", functions.destroy_preference);
    library.find("cublasLtMatmulPreferenceSetAttribute", functions.set_preference);
    library.find("cublasLtMatmulAlgoGetHeuristic", functions.find_algorithm);
    library.find("cublasLtMatmul", functions.matmul);
  }
};

}  // namespace

const CublasLt& cublas_lt() {
  static const Loaded loaded;
  if (!loaded.library.reason().empty()) {
    throw Error("cuda", loaded.library.reason() +
                            "; install libcublas of the CUDA toolkit, or compute on cpu");
  }
  return loaded.functions;
}

}  // namespace tandem::cuda
