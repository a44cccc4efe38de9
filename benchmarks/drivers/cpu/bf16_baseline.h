// SPDX-License-Identifier: Apache-2.0
//
// The peer of our products of bf16 weights: oneDNN's matmul on all of its threads, with the weights
// in the order that it chooses. A build without oneDNN has no baseline (bf16_absent.cpp).
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

// w [out, in] and x [rows, in] are bf16; x and y must outlive the result. Null without oneDNN.
std::unique_ptr<Bf16Baseline> bf16_baseline(std::int64_t rows, std::int64_t out, std::int64_t in,
                                            const void* w, void* x, float* y);

}  // namespace tandem::bench
