// SPDX-License-Identifier: Apache-2.0
//
// The functions of cuBLASLt that this folder calls, loaded at first use: a program starts without
// the library and without a driver. Threads: any.
#pragma once

#include <cublasLt.h>

#include <cstddef>

namespace tandem::cuda {

using FindLtAlgorithm = cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                           cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                           cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                           cublasLtMatmulPreference_t, int,
                                           cublasLtMatmulHeuristicResult_t*, int*);
using LtMatmulFunction = cublasStatus_t (*)(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                            const void* alpha, const void* a,
                                            cublasLtMatrixLayout_t, const void* b,
                                            cublasLtMatrixLayout_t, const void* beta, const void* c,
                                            cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t,
                                            const cublasLtMatmulAlgo_t*, void* workspace,
                                            std::size_t workspace_bytes, cudaStream_t);

struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_description = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_description = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_description = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  FindLtAlgorithm find_algorithm = nullptr;
  LtMatmulFunction matmul = nullptr;
};

// Throws Error if the library cannot be loaded; the text says how to get it.
const CublasLt& cublas_lt();

}  // namespace tandem::cuda
