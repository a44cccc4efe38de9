// SPDX-License-Identifier: Apache-2.0
//
// Random sparse vectors for the kernels' tests, as plain arrays and as the library's type.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "sparse/wire_values.h"
#include "tensor/sparse/sparse_vector.h"

namespace tandem::gpu_kernels {

// `count` unique ascending indices below num_units; clustered: from the first eighth.
inline std::vector<std::uint32_t> random_indices(std::size_t count, std::uint64_t num_units,
                                                 unsigned seed, bool clustered = false) {
  std::mt19937_64 random(seed);
  const std::uint64_t range = clustered ? std::max<std::uint64_t>(num_units / 8, count) : num_units;
  std::vector<std::uint32_t> indices;
  if (count > range / 4) {  // each index with the chance that makes all of them count in the end
    for (std::uint64_t index = 0; index < range; ++index) {
      if (random() % (range - index) < count - indices.size()) {
        indices.push_back(static_cast<std::uint32_t>(index));
      }
    }
  }
  while (indices.size() < count) {
    while (indices.size() < count) {
      indices.push_back(static_cast<std::uint32_t>(random() % range));
    }
    std::sort(indices.begin(), indices.end());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  }
  return indices;
}

template <typename T>
std::vector<T> random_values(std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(count);
  for (T& value : values) {
    const std::uint64_t bits = random();
    // all exponents that f16 rounds, overflows or flushes, and both zeros
    value = static_cast<T>(static_cast<std::int64_t>(bits >> 40)) / T(1u << (bits % 31));
    if constexpr (T(-1) < T(0)) value = bits % 2 == 0 ? value : -value;
  }
  return values;
}

inline DType dtype_of(ValueType type) {
  switch (type) {
    case ValueType::kF16:
      return DType::kF16;
    case ValueType::kBF16:
      return DType::kBF16;
    case ValueType::kF64:
      return DType::kF64;
    case ValueType::kU64:
      return DType::kU64;
    default:
      return DType::kF32;
  }
}

template <typename T>
sparse::SparseVector sparse_vector(std::uint64_t num_units, DType type,
                                   const std::vector<std::uint32_t>& indices,
                                   const std::vector<T>& values) {
  sparse::SparseVector vector({num_units, 1}, type);
  vector.resize(indices.size());
  std::copy(indices.begin(), indices.end(), vector.indices<std::uint32_t>().begin());
  std::copy(values.begin(), values.end(), vector.values<T>().begin());
  return vector;
}

// The bits of floating-point values, so that zeros of either sign and NaNs compare.
template <typename T>
std::vector<unsigned char> bytes_of(const T* values, std::size_t count) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values);
  return {bytes, bytes + count * sizeof(T)};
}

}  // namespace tandem::gpu_kernels
