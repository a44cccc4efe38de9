// SPDX-License-Identifier: Apache-2.0
//
// LtMatmul: matrix products by cuBLASLt, each shape planned once.
//
// out[row] = (accumulate ? out[row] : 0) + x[row] W^T + bias, all row-major; W may be a slice of a
// larger matrix's outputs, whose results lie out_stride apart. Types of W and x: f32 (without
// TF32), f16, bf16, with sums and results in f32; e4m3 with a scale per output and per row. The
// bias goes into the library's epilogue where it has one for the shape (e4m3 and some others have
// none), else into `out` by a kernel first.
// run() neither allocates nor waits on the device; plan() asks the library's heuristics, some tens
// of microseconds on the host, and keeps what it says. Threads: one. Ownership: the workspace is
// the caller's, and so is the order of calls that share it. Errors: DeviceError with the library's
// status; without the library, in the build or on the machine, Error that says how to get it.
#pragma once

#include <cuda_runtime_api.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/stored_types.h"

namespace tandem::cuda {

struct MatmulShape {
  gpu_kernels::StoredType type = gpu_kernels::StoredType::kBF16;  // of W and x
  std::int64_t rows = 0, out_features = 0, in_features = 0;
  std::int64_t out_stride = 0;
  bool has_bias = false, accumulate = false;
  auto operator<=>(const MatmulShape&) const = default;
};

struct MatmulOperands {
  const void* weight = nullptr;          // [out_features, in_features], all aligned to 16
  const void* x = nullptr;               // [rows, in_features]
  const float* weight_scales = nullptr;  // [out_features], e4m3 only
  const float* x_scales = nullptr;       // [rows], e4m3 only
  const float* bias = nullptr;           // [out_features], with has_bias
  float* out = nullptr;                  // [rows, out_stride]
};

class LtMatmul {
 public:
  static constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

  // workspace: [kWorkspaceBytes], aligned to 256. For the current device.
  explicit LtMatmul(void* workspace);
  ~LtMatmul();
  LtMatmul(const LtMatmul&) = delete;
  LtMatmul& operator=(const LtMatmul&) = delete;

  // False when the library has no algorithm for it on this device.
  bool plan(const MatmulShape& shape);

  void run(const MatmulShape& shape, const MatmulOperands& operands, cudaStream_t stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::cuda
