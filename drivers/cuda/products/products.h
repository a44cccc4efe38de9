// SPDX-License-Identifier: Apache-2.0
//
// Products: matrix products of a GPU. The type, the shape and the number of rows choose the kernel.
//
// out[row] = (accumulate ? out[row] : 0) + x[row] W^T + bias. Targets of one call share their rows.
// Numerics: f32 sums. Quantised weights round rows to int8 up to 64 rows in the call, to bf16
// above. The order of additions changes at 4 rows (dp4a, mma), at 64 (cuBLASLt), and within
// cuBLASLt. Ownership: the caller keeps workspace, weights and rows until the stream has passed
// them. Threads: one, one stream at a time. Errors: Error for shapes, DeviceError.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/stored_types.h"
#include "norm/row_preparation.h"
#include "tensor/dtype.h"

namespace tandem::cuda {

// A weight in device memory as products read it: quantised types packed (store_rows()), floats as
// in the model file.
struct Matrix {
  gpu_kernels::StoredType type = gpu_kernels::StoredType::kF32;
  std::int64_t out_features = 0, in_features = 0;
  const std::byte* data = nullptr;  // [stored_bytes()], aligned to 256
  // e4m3 only: in device memory, laid out as in ProductTarget; null: all scales are 1
  const float* scales = nullptr;
  int scale_outputs = 1, scale_inputs = 0;
};

// Throws Error on types that cannot be weights.
gpu_kernels::StoredType stored_type(DType dtype);

// Device bytes of a matrix as products read it.
std::size_t stored_bytes(gpu_kernels::StoredType type, std::int64_t out_features,
                         std::int64_t in_features);

// Enqueues the copy of rows [first_row, first_row + num_rows) to their place in `to` (of `matrix`'s
// shape; its data is not read). `rows` is in device memory in the order of the file, aligned to 16.
// first_row, and num_rows except at the end, are multiples of 16. Floats may also be copied
// directly to to + first_row * row bytes.
void store_rows(const Matrix& matrix, std::int64_t first_row, std::int64_t num_rows,
                const std::byte* rows, std::byte* to, cudaStream_t stream);

enum class RowForm { kF32, kBF16, kF16, kE4M3, kQ8 };

// The rows of a product in the forms that its targets need; other forms may be null.
struct ProductRows {
  std::int64_t rows = 0;
  std::int64_t in_features = 0;
  const float* f32 = nullptr;                     // [rows, in_features], all aligned to 16
  const gpu_kernels::BF16* bf16 = nullptr;        // [rows, in_features]
  const gpu_kernels::F16* f16 = nullptr;          // [rows, in_features]
  const gpu_kernels::E4M3* e4m3 = nullptr;        // [rows, in_features]
  const float* e4m3_scales = nullptr;             // [rows]
  const std::int8_t* q8 = nullptr;                // [rows, in_features]
  const gpu_kernels::Q8Note* q8_notes = nullptr;  // [rows, in_features / 32]
};

struct Target {
  const Matrix* weight = nullptr;
  const float* bias = nullptr;  // [out_features] on the device, or none
  float* out = nullptr;         // [rows, out_features], aligned to 16
  bool accumulate = false;
};

struct ProductOptions {
  // Bytes of a slice of a weight as bf16, a multiple of 256: small enough that a second-level cache
  // of some 40 MiB still holds it when it is read again.
  std::size_t slice_bytes = std::size_t{24} << 20;
  // Whether rows for e4m3 weights with a scale per output may be rounded to e4m3, with a scale per
  // row. A ComputeUnit may if its device was opened with the option cuda-fp8-rows.
  bool e4m3_rows = false;
};

class LtMatmul;

//   quantised  1..64 rows: gemm/quantised_product.h on int8 rows, 16 at a time (reads W up to four
//              times); more: slices of W to bf16 (gemm/dequantise.h), then cuBLASLt on bf16 rows
//   bf16, f16  1..8 rows: gemm/narrow_product.h; more: cuBLASLt; rows in the weight's type
//   e4m3       1..8 rows: gemm/narrow_product.h on bf16 rows, if blocks of scales are multiples of
//              128 inputs; more: slices of W to bf16 and cuBLASLt, or cuBLASLt on e4m3 rows, if
//              options allow it, scales are per output, and the library can do it on this GPU
//   f32        1..8 rows: gemm/narrow_product.h; more: cuBLASLt without TF32; rows in f32
// If a row is not a multiple of 16 bytes of the weight's type, cuBLASLt computes the product.
class Products {
 public:
  // Workspace that suffices for every product, aligned to 256.
  static std::size_t workspace_bytes(const ProductOptions& options = {});

  // For the current device. Zeroes the kernels' counters on the stream.
  Products(void* workspace, cudaStream_t stream, const ProductOptions& options = {});
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // The form in which a product reads its rows; prepare_rows() writes it.
  RowForm row_form(const Matrix& weight, std::int64_t rows) const;

  // Plans a shape before its first run().
  void prepare(const Matrix& weight, std::int64_t rows, bool has_bias, bool accumulate);

  // Graph-safe: neither allocates nor waits. The first run of a shape loads its kernel. Returns the
  // bytes of weights read.
  std::uint64_t run(const ProductRows& x, std::span<const Target> targets, cudaStream_t stream);

 private:
  void run_few(const ProductRows& x, std::span<const Target> targets, cudaStream_t stream);
  void run_many(const ProductRows& x, const Target& target, cudaStream_t stream);
  bool takes_few(const Matrix& weight, std::int64_t rows) const;
  bool multiplies_e4m3(const Matrix& weight, std::int64_t rows) const;

  const ProductOptions options_;
  std::byte* workspace_;
  std::unique_ptr<LtMatmul> matmul_;
};

}  // namespace tandem::cuda
