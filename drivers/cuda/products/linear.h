// SPDX-License-Identifier: Apache-2.0
//
// Linear: prepares rows and multiplies them with weights, as launches of the queue.
//
// One launch (norm, gate and rounding) writes the rows in every form that the call's products read;
// rows already in that form are used in place. One record then does the products. Rows or results
// that are not aligned to 16 bytes go through scratch. Memory: the products' workspace and the
// queue's scratch. Threads: the submitting thread. Errors: Error for memory; the caller checks
// shapes.
#pragma once

#include <cstdint>
#include <span>

#include "cuda/gpu/gpu.h"
#include "cuda/products/products.h"
#include "cuda/products/weight.h"
#include "norm/row_preparation.h"

namespace tandem::cuda {

struct LinearInput {
  std::int64_t rows = 0, width = 0;
  const float* x = nullptr;             // [rows, width]
  const std::int32_t* picks = nullptr;  // [rows] in device memory: row i is x[picks[i]]; none: x[i]
  gpu_kernels::RowFunction function = gpu_kernels::RowFunction::kNone;
  const float* norm = nullptr;
  float norm_epsilon = 1e-5f;
  const float* up = nullptr;  // [rows, width]
};

struct LinearOutput {
  const CudaWeight* weight = nullptr;  // with a matrix()
  const float* bias = nullptr;
  float* out = nullptr;  // [rows, out_features]
  bool accumulate = false;
};

class Linear {
 public:
  explicit Linear(Gpu& gpu);

  // Returns the bytes of weights that it reads.
  std::uint64_t run(const LinearInput& input, std::span<const LinearOutput> outputs);

 private:
  struct Places;  // places of the forms and results in scratch

  void prepare(const LinearInput& input, const ProductRows& rows);
  void multiply(const ProductRows& rows, std::span<const LinearOutput> outputs,
                const Places& places);
  void move_out(const LinearInput& input, std::span<const LinearOutput> outputs,
                const Places& places);

  Queue& queue_;
  PoolRange workspace_;
  Products products_;
};

}  // namespace tandem::cuda
