// SPDX-License-Identifier: Apache-2.0
//
// oneDNN's single-precision product.
#include <dnnl.h>

#include <stdexcept>

#include "training/trainer/torch/gemm.h"

namespace tandem::training::torch_passes {

void gemm(const Product& product, const Matrix& a, const Matrix& b, float* c, std::int64_t stride) {
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', product.rows, product.columns,
                 product.inner, product.scale, a.values, a.stride, b.values, b.stride, product.beta,
                 c, stride);
  if (status != dnnl_success) {
    throw std::runtime_error("oneDNN refuses a product of matrices, status " +
                             std::to_string(static_cast<int>(status)));
  }
}

}  // namespace tandem::training::torch_passes
