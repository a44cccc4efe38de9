// SPDX-License-Identifier: Apache-2.0
//
// libtorch's single-precision product, on views of the same memory.
#include <torch/torch.h>

#include "training/trainer/torch/gemm.h"

namespace tandem::training::torch_passes {
namespace {

at::Tensor view_of(const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
  auto* values = const_cast<float*>(matrix.values);
  if (!matrix.transposed) return at::from_blob(values, {rows, columns}, {matrix.stride, 1});
  return at::from_blob(values, {rows, columns}, {1, matrix.stride});
}

}  // namespace

void gemm(const Product& product, const Matrix& a, const Matrix& b, float* c, std::int64_t stride) {
  const at::NoGradGuard no_gradients;
  at::Tensor result = at::from_blob(c, {product.rows, product.columns}, {stride, 1});
  result.addmm_(view_of(a, product.rows, product.inner), view_of(b, product.inner, product.columns),
                product.beta, product.scale);
}

}  // namespace tandem::training::torch_passes
