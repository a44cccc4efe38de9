// SPDX-License-Identifier: Apache-2.0
//
// gemm(): products of f32 matrices for the passes of a model.
//
// It uses oneDNN if the build has it (gemm_dnnl.cpp), because Debian's libtorch calls the system's
// BLAS, which may be the slow reference implementation. Otherwise it uses libtorch's product
// (gemm_torch.cpp). Threads: any; inside a parallel region it uses one.
#pragma once

#include <cstdint>

namespace tandem::training::torch_passes {

struct Matrix {
  const float* values = nullptr;
  std::int64_t stride = 0;  // distance of its rows in memory
  bool transposed = false;
};

// c[rows, columns] = a[rows, inner] b[inner, columns] + beta c, row-major. `transposed`: the memory
// holds the transpose.
struct Product {
  std::int64_t rows = 0, columns = 0, inner = 0;
  float scale = 1;
  float beta = 0;
};
void gemm(const Product& product, const Matrix& a, const Matrix& b, float* c, std::int64_t stride);

}  // namespace tandem::training::torch_passes
