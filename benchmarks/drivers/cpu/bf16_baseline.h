// SPDX-License-Identifier: Apache-2.0
//
// The library's product of bf16 weights that ours is compared with: oneDNN's matmul, its weights in
// the order that it chooses, on all of its threads. Without oneDNN at build time bf16_absent.cpp
// stands in and there is no baseline.
#pragma once

#include <cstdint>
#include <memory>

namespace tandem::bench {

class Bf16Baseline {
 public:
  virtual ~Bf16Baseline() = default;
  // y [rows, out] = x [rows, in] * w^T
  virtual void multiply() = 0;
};

// w [out, in] and x [rows, in] are bf16; x and y must live as long as the result. Null where there
// is no library.
std::unique_ptr<Bf16Baseline> bf16_baseline(std::int64_t rows, std::int64_t out, std::int64_t in,
                                            const void* w, void* x, float* y);

}  // namespace tandem::bench
