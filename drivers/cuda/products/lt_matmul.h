// SPDX-License-Identifier: Apache-2.0
//
// LtMatmul: matrix products by cuBLASLt; each shape is planned once.
//
// out[row] = (accumulate ? out[row] : 0) + x[row] W^T + bias, all row-major; W may be a slice of
// the outputs of a larger matrix, with results out_stride apart. W and x are f32 (without TF32),
// f16 or bf16, with f32 sums and results; or e4m3 with a scale per output and per row. The
// library's epilogue adds the bias if it can for the shape (not for e4m3 and some others); else a
// kernel writes it into `out` first. run() neither allocates nor waits on the device; plan() asks
// the library's heuristics once per shape, some tens of microseconds. Threads: one. Ownership: the
// workspace is the caller's; calls that share it are ordered by the caller. Errors: DeviceError
// with the library's status; Error that says how to get the library if it is absent.
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

  // Returns false if the library has no algorithm for the shape on this device.
  bool plan(const MatmulShape& shape);

  void run(const MatmulShape& shape, const MatmulOperands& operands, cudaStream_t stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::cuda
