// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt by loops on the host: D = alpha A^T B + beta C, column-major, C and D the same matrix.
//
// Checks the library's conditions: an algorithm from the heuristics for exactly these shapes,
// aligned pointers, and for e4m3 no f32 bias, sizes in multiples of 16, and scales. Every call
// overwrites its workspace, so that no caller keeps data there. Descriptors are read at the call,
// as by the library; matrices when the stream reaches the work. Numerics: sums in f32 in the order
// of the inputs.
#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda/products/cublas_lt_library.h"
#include "gpu_kernels/simt/stream.h"
#include "tensor/dtype.h"

struct cublasLtContext {};
struct cublasLtMatmulDescOpaque_t {
  cublasOperation_t transpose_a = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const float* bias = nullptr;
  const float* scales[2] = {nullptr, nullptr};
  cublasLtMatmulMatrixScale_t modes[2] = {CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F,
                                          CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F};
};
struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t stride;
};
struct cublasLtMatmulPreferenceOpaque_t {
  std::size_t workspace_bytes = 0;
  std::uint32_t alignment = 256;
};

namespace {

using namespace tandem;

float value_at(const cublasLtMatrixLayoutOpaque_t& layout, const void* matrix, std::uint64_t row,
               std::uint64_t column) {
  const std::size_t at = column * static_cast<std::uint64_t>(layout.stride) + row;
  switch (layout.type) {
    case CUDA_R_16F:
      return f16_to_f32(static_cast<const std::uint16_t*>(matrix)[at]);
    case CUDA_R_16BF:
      return bf16_to_f32(static_cast<const std::uint16_t*>(matrix)[at]);
    case CUDA_R_8F_E4M3:
      return f8_to_f32(static_cast<const std::uint8_t*>(matrix)[at]);
    default:
      return static_cast<const float*>(matrix)[at];
  }
}

std::vector<float> column_of(const cublasLtMatrixLayoutOpaque_t& layout, const void* matrix,
                             std::uint64_t column) {
  std::vector<float> values(layout.rows);
  for (std::uint64_t row = 0; row < layout.rows; ++row) {
    values[row] = value_at(layout, matrix, row, column);
  }
  return values;
}

bool fit(const cublasLtMatrixLayoutOpaque_t& a, const cublasLtMatrixLayoutOpaque_t& b,
         const cublasLtMatrixLayoutOpaque_t& d) {
  return a.type == b.type && d.type == CUDA_R_32F && a.rows == b.rows && a.columns == d.rows &&
         b.columns == d.columns && a.stride >= static_cast<std::int64_t>(a.rows) &&
         b.stride >= static_cast<std::int64_t>(b.rows) &&
         d.stride >= static_cast<std::int64_t>(d.rows);
}

bool is_supported(const cublasLtMatmulDescOpaque_t& description,
                  const cublasLtMatrixLayoutOpaque_t& a, const cublasLtMatrixLayoutOpaque_t& d) {
  const bool has_vectors = description.modes[0] == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F &&
                           description.modes[1] == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
  if (description.transpose_a != CUBLAS_OP_T) return false;
  if (a.type != CUDA_R_8F_E4M3) return !has_vectors;
  return has_vectors && description.epilogue == CUBLASLT_EPILOGUE_DEFAULT && a.rows % 16 == 0 &&
         d.rows % 16 == 0;
}

// Stands for "an algorithm for this": the shapes and what is done behind the product.
cublasLtMatmulAlgo_t algorithm_for(const cublasLtMatmulDescOpaque_t& description,
                                   const cublasLtMatrixLayoutOpaque_t& a,
                                   const cublasLtMatrixLayoutOpaque_t& d) {
  return {{static_cast<std::uint64_t>(a.type), a.rows, a.columns, d.columns,
           static_cast<std::uint64_t>(d.stride), static_cast<std::uint64_t>(description.epilogue),
           0, 0}};
}

bool is_aligned(const void* pointer, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

struct Product {
  cublasLtMatmulDescOpaque_t description;
  cublasLtMatrixLayoutOpaque_t a, b, d;
  const void *a_data, *b_data;
  float* d_data;
  float alpha, beta;
};

void multiply(const Product& job) {
  std::vector<std::vector<float>> columns;
  for (std::uint64_t j = 0; j < job.d.columns; ++j) {
    columns.push_back(column_of(job.b, job.b_data, j));
  }
  for (std::uint64_t i = 0; i < job.d.rows; ++i) {
    const std::vector<float> a = column_of(job.a, job.a_data, i);
    for (std::uint64_t j = 0; j < job.d.columns; ++j) {
      const std::vector<float>& b = columns[j];
      float sum = 0;
      for (std::uint64_t k = 0; k < job.a.rows; ++k) sum += a[k] * b[k];
      if (job.description.scales[0] != nullptr) sum *= job.description.scales[0][i];
      if (job.description.scales[1] != nullptr) sum *= job.description.scales[1][j];
      float& to = job.d_data[j * static_cast<std::uint64_t>(job.d.stride) + i];
      sum *= job.alpha;
      if (job.beta != 0) sum += job.beta * to;
      if (job.description.epilogue == CUBLASLT_EPILOGUE_BIAS) sum += job.description.bias[i];
      to = sum;
    }
  }
}

template <typename T>
cublasStatus_t take(T& to, const void* value, std::size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t,
                                        cudaDataType_t) {
  *description = new cublasLtMatmulDescOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete description;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(description->transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(description->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(description->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
      return take(description->scales[0], value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
      return take(description->scales[1], value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
      return take(description->modes[0], value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
      return take(description->modes[1], value, bytes);
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t stride) {
  *layout = new cublasLtMatrixLayoutOpaque_t{type, rows, columns, stride};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  return attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
             ? take(preference->workspace_bytes, value, bytes)
             : take(preference->alignment, value, bytes);
}

}  // extern "C"

cublasStatus_t find_lt_algorithm(const LtHeuristicCall& call) {
  *call.found = 0;
  if (call.wanted < 1 || call.c != call.d || !fit(*call.a, *call.b, *call.d)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!is_supported(*call.description, *call.a, *call.d)) return CUBLAS_STATUS_NOT_SUPPORTED;
  call.results[0] = {algorithm_for(*call.description, *call.a, *call.d),
                     call.preference->workspace_bytes, CUBLAS_STATUS_SUCCESS};
  *call.found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t multiply_by_lt(const LtMatmulCall& call) {
  const cublasLtMatmulDescOpaque_t& description = *call.description;
  const bool scaled = call.a_layout->type == CUDA_R_8F_E4M3;
  const cublasLtMatmulAlgo_t expected = algorithm_for(description, *call.a_layout, *call.d_layout);
  if (call.c != call.d || call.c_layout != call.d_layout ||
      !fit(*call.a_layout, *call.b_layout, *call.d_layout) ||
      std::memcmp(&expected, call.algorithm, sizeof(expected)) != 0 || !is_aligned(call.a, 16) ||
      !is_aligned(call.b, 16) || !is_aligned(call.d, 16) || !is_aligned(call.workspace, 256) ||
      (description.epilogue == CUBLASLT_EPILOGUE_BIAS && description.bias == nullptr) ||
      scaled != (description.scales[0] != nullptr) ||
      scaled != (description.scales[1] != nullptr)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const Product job{description,
                    *call.a_layout,
                    *call.b_layout,
                    *call.d_layout,
                    call.a,
                    call.b,
                    static_cast<float*>(call.d),
                    *static_cast<const float*>(call.alpha),
                    *static_cast<const float*>(call.beta)};
  const auto spoil = [to = call.workspace,
                      bytes = std::min<std::size_t>(call.workspace_bytes, 4096)] {
    std::memset(to, 0x5a, bytes);
  };
  const cudaError_t error = simt::on_stream(call.stream, [=] {
    spoil();
    multiply(job);
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

const tandem::cuda::CublasLt& tandem::cuda::cublas_lt() {
  static constexpr CublasLt kFunctions{cublasLtCreate,
                                       cublasLtDestroy,
                                       cublasLtMatmulDescCreate,
                                       cublasLtMatmulDescDestroy,
                                       cublasLtMatmulDescSetAttribute,
                                       cublasLtMatrixLayoutCreate,
                                       cublasLtMatrixLayoutDestroy,
                                       cublasLtMatmulPreferenceCreate,
                                       cublasLtMatmulPreferenceDestroy,
                                       cublasLtMatmulPreferenceSetAttribute,
                                       cublasLtMatmulAlgoGetHeuristic,
                                       cublasLtMatmul};
  return kFunctions;
}
