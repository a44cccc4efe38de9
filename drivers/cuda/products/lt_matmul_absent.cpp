// SPDX-License-Identifier: Apache-2.0
//
// LtMatmul of a CUDA toolkit without cuBLASLt.
#include "common/error.h"
#include "cuda/products/lt_matmul.h"

namespace tandem::cuda {

struct LtMatmul::State {};

LtMatmul::LtMatmul(void*) {
  throw Error("cuda",
              "this build has no cuBLASLt, which products of many rows need: install it "
              "(libcublas and its headers), let CMake find it and build again");
}
LtMatmul::~LtMatmul() = default;
bool LtMatmul::plan(const MatmulShape&) { return false; }
void LtMatmul::run(const MatmulShape&, const MatmulOperands&, cudaStream_t) {}

}  // namespace tandem::cuda
