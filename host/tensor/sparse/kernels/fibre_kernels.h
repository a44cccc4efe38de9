// SPDX-License-Identifier: Apache-2.0
//
// The vectorised loops over fibres of one class, used by fibre_products.cpp.
//
// Plain arguments. `stride`: values between rows of a dense matrix, a multiple of kFactorStep.
// Threads: any, on different fibres.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/sparse/kernels/stored_value.h"

namespace tandem::sparse {

// Fibres [first, last), of `length` entries each; length 0: as `begins` says.
template <typename Stored>
struct FibreRun {
  const std::uint64_t* begins = nullptr;  // [fibres + 1]
  const std::int32_t* indices = nullptr;  // [entries]
  const Stored* values = nullptr;         // [entries]
  std::uint64_t first = 0, last = 0;
  std::size_t length = 0;
};

// out[f] = the sum of value * x[index].
void fibre_dots(const FibreRun<float>& run, const float* x, float* out);
void fibre_dots(const FibreRun<double>& run, const double* x, double* out);
void fibre_dots(const FibreRun<Bf16>& run, const float* x, float* out);

// out[f * stride ..] = the sum of value * dense[index * stride ..].
void fibre_sums(const FibreRun<float>& run, const float* dense, std::size_t stride, float* out);
void fibre_sums(const FibreRun<double>& run, const double* dense, std::size_t stride, double* out);
void fibre_sums(const FibreRun<Bf16>& run, const float* dense, std::size_t stride, float* out);

}  // namespace tandem::sparse
