// SPDX-License-Identifier: Apache-2.0
//
// The dot product loops with the instructions that x86 processors may have: VNNI on 512 and 256
// bits, multiply-and-add of bytes on AVX2, BF16 on 512.
//
// Debian's Highway has no operation for them; every function is compiled for what it uses and
// chosen by what the processor says it has.
#include <immintrin.h>

#include "cpu/kernels/product_loop.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kSums512 = 16, kSums256 = 8;

__attribute__((target("avx512f,avx512bw,avx512vnni"))) float int8_vnni512(std::size_t iterations) {
  __m512i sums[kSums512];
  for (__m512i& sum : sums) sum = _mm512_set1_epi32(1);
  const __m512i weight = _mm512_set1_epi8(3);
  for (std::size_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (__m512i& sum : sums) sum = _mm512_dpbusd_epi32(sum, sum, weight);
  }
  __m512i all = sums[0];
  for (const __m512i& sum : sums) all = _mm512_add_epi32(all, sum);
  return static_cast<float>(_mm512_reduce_add_epi32(all));
}

__attribute__((target("avx2,avxvnni"))) float int8_vnni256(std::size_t iterations) {
  __m256i sums[kSums256];
  for (__m256i& sum : sums) sum = _mm256_set1_epi32(1);
  const __m256i weight = _mm256_set1_epi8(3);
  for (std::size_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 8
    for (__m256i& sum : sums) sum = _mm256_dpbusd_avx_epi32(sum, sum, weight);
  }
  __m256i all = sums[0];
  for (const __m256i& sum : sums) all = _mm256_add_epi32(all, sum);
  return static_cast<float>(_mm256_extract_epi32(all, 0));
}

__attribute__((target("avx2"))) float int8_avx2(std::size_t iterations) {
  __m256i sums[kSums256];
  for (__m256i& sum : sums) sum = _mm256_set1_epi32(1);
  const __m256i weight = _mm256_set1_epi8(3), ones = _mm256_set1_epi16(1);
  for (std::size_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 8
    for (__m256i& sum : sums) {
      const __m256i pairs = _mm256_maddubs_epi16(sum, weight);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
    }
  }
  __m256i all = sums[0];
  for (const __m256i& sum : sums) all = _mm256_add_epi32(all, sum);
  return static_cast<float>(_mm256_extract_epi32(all, 0));
}

__attribute__((target("avx512f,avx512bw,avx512bf16"))) float bf16_512(std::size_t iterations) {
  __m512 sums[kSums512];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1.0f);
  const auto tiny = (__m512bh)_mm512_set1_epi16(0x2000);  // 1e-19
  for (std::size_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 16
    for (__m512& sum : sums) sum = _mm512_dpbf16_ps(sum, (__m512bh)sum, tiny);
  }
  __m512 all = sums[0];
  for (const __m512& sum : sums) all = _mm512_add_ps(all, sum);
  return _mm512_reduce_add_ps(all);
}

}  // namespace

ProductLoop int8_dot_product_loop() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw")) {
    return {int8_vnni512, 2.0 * 64 * kSums512};
  }
  if (__builtin_cpu_supports("avxvnni")) return {int8_vnni256, 2.0 * 32 * kSums256};
  if (__builtin_cpu_supports("avx2")) return {int8_avx2, 2.0 * 32 * kSums256};
  return {};
}

ProductLoop bf16_dot_product_loop() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw")) {
    return {bf16_512, 2.0 * 32 * kSums512};
  }
  return {};
}

}  // namespace tandem::device::cpu
