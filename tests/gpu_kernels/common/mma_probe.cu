// SPDX-License-Identifier: Apache-2.0
//
// Fragments are filled word by word from the header's table of lanes.
#include "gpu_kernels/common/mma_probe.h"

#include "common/launch.cuh"
#include "common/mma.cuh"

namespace tandem::gpu_kernels {
namespace {

// Word `column` / (values per word) of a row-major matrix of `row_words` words per row.
template <typename T>
__device__ std::uint32_t word_at(const T* matrix, unsigned row, unsigned row_words, unsigned word) {
  return reinterpret_cast<const std::uint32_t*>(matrix)[row * row_words + word];
}

// Both kinds of fragments are rows of eight words.
template <typename T>
__device__ void load_fragments(const T* a, const T* b, std::uint32_t (&a_words)[4],
                               std::uint32_t (&b_words)[2]) {
  const unsigned group = threadIdx.x / 4, quad = threadIdx.x % 4;
  for (unsigned i = 0; i < 4; ++i) {
    a_words[i] = word_at(a, group + i % 2 * 8, 8, quad + i / 2 * 4);
  }
  for (unsigned i = 0; i < 2; ++i) b_words[i] = word_at(b, group, 8, quad + i * 4);
}

template <typename Sum>
__device__ Sum& result_at(Sum* c, unsigned i) {
  return c[(threadIdx.x / 4 + i / 2 * 8) * 8 + threadIdx.x % 4 * 2 + i % 2];
}

template <typename T>
__global__ void product(const std::uint16_t* a, const std::uint16_t* b, float* c) {
  let_next_start();
  wait_for_previous();
  std::uint32_t a_words[4], b_words[2];
  load_fragments(a, b, a_words, b_words);
  float d[4];
  for (unsigned i = 0; i < 4; ++i) d[i] = result_at(c, i);
  multiply_accumulate<T>(d, a_words, b_words[0], b_words[1]);
  for (unsigned i = 0; i < 4; ++i) result_at(c, i) = d[i];
}

__global__ void byte_product(const std::int8_t* a, const std::int8_t* b, std::int32_t* c) {
  let_next_start();
  wait_for_previous();
  std::uint32_t a_words[4], b_words[2];
  load_fragments(a, b, a_words, b_words);
  std::int32_t d[4];
  for (unsigned i = 0; i < 4; ++i) d[i] = result_at(c, i);
  multiply_accumulate_bytes(d, a_words, b_words[0], b_words[1]);
  for (unsigned i = 0; i < 4; ++i) result_at(c, i) = d[i];
}

__global__ void load(const std::uint16_t* from, bool transposed, std::uint32_t* to) {
  let_next_start();
  wait_for_previous();
  alignas(16) __shared__ std::uint16_t tile[16][16];
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned at = threadIdx.x + 32 * i;
    tile[at / 16][at % 16] = from[at];
  }
  __syncwarp();
  const std::uint16_t* row = &tile[threadIdx.x % 16][threadIdx.x / 16 * 8];
  std::uint32_t words[4];
  if (transposed) {
    load_matrices_transposed(words, row);
  } else {
    load_matrices(words, row);
  }
  for (unsigned i = 0; i < 4; ++i) to[threadIdx.x * 4 + i] = words[i];
}

template <typename T>
__global__ void split_pairs(const float* values, std::uint32_t* parts) {
  let_next_start();
  wait_for_previous();
  const unsigned at = threadIdx.x * 2;
  split<T>(values[at], values[at + 1], parts[at], parts[at + 1]);
}

}  // namespace

cudaError_t probe_product(ProbeType type, const std::uint16_t* a, const std::uint16_t* b,
                          float* c) {
  return launch(nullptr, 1, 32, type == ProbeType::kHalf ? product<Half> : product<Bfloat>, a, b,
                c);
}

cudaError_t probe_byte_product(const std::int8_t* a, const std::int8_t* b, std::int32_t* c) {
  return launch(nullptr, 1, 32, byte_product, a, b, c);
}

cudaError_t probe_load(const std::uint16_t* from, bool transposed, std::uint32_t* to) {
  return launch(nullptr, 1, 32, load, from, transposed, to);
}

cudaError_t probe_split(ProbeType type, const float* values, std::uint32_t* parts) {
  return launch(nullptr, 1, 32, type == ProbeType::kHalf ? split_pairs<Half> : split_pairs<Bfloat>,
                values, parts);
}

}  // namespace tandem::gpu_kernels
