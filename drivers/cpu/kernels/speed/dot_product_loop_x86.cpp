// SPDX-License-Identifier: Apache-2.0
//
// The dot product loops with optional instructions of x86 processors: VNNI on 512 and 256 bits,
// multiply-and-add of bytes on AVX2, BF16 on 512.
//
// Written as assembly: Debian's Highway has no operation for them, and compilers move the sums
// between registers around intrinsics. Every function is compiled for its instructions and chosen
// by the features that the processor reports. Every multiplication adds 9; that of bfloat16 adds
// 2^-14.
#include "cpu/kernels/speed/product_loop.h"

#include <cpuid.h>

namespace tandem::device::cpu {
namespace {

constexpr int kSums = 12;  // with the operands and a place between, what 16 registers hold

using Bytes32 = std::int8_t __attribute__((vector_size(32)));
using Bytes64 = std::int8_t __attribute__((vector_size(64)));
using Shorts16 = std::int16_t __attribute__((vector_size(32)));
using Shorts32 = std::int16_t __attribute__((vector_size(64)));
using Ints8 = std::int32_t __attribute__((vector_size(32)));
using Ints16 = std::int32_t __attribute__((vector_size(64)));
using Floats16 = float __attribute__((vector_size(64)));

__attribute__((target("avx512f,avx512bw,avx512vnni"))) float int8_vnni512(std::size_t iterations) {
  Ints16 s0 = {}, s1 = {}, s2 = {}, s3 = {}, s4 = {}, s5 = {}, s6 = {}, s7 = {}, s8 = {}, s9 = {},
         s10 = {}, s11 = {};
  const Bytes64 weight = Bytes64{} + std::int8_t{3};
  for (std::size_t i = 0; i < iterations; ++i) {
    asm volatile(
        "vpdpbusd %12, %12, %0\n"
        "vpdpbusd %12, %12, %1\n"
        "vpdpbusd %12, %12, %2\n"
        "vpdpbusd %12, %12, %3\n"
        "vpdpbusd %12, %12, %4\n"
        "vpdpbusd %12, %12, %5\n"
        "vpdpbusd %12, %12, %6\n"
        "vpdpbusd %12, %12, %7\n"
        "vpdpbusd %12, %12, %8\n"
        "vpdpbusd %12, %12, %9\n"
        "vpdpbusd %12, %12, %10\n"
        "vpdpbusd %12, %12, %11\n"
        : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3), "+v"(s4), "+v"(s5), "+v"(s6), "+v"(s7), "+v"(s8),
          "+v"(s9), "+v"(s10), "+v"(s11)
        : "v"(weight));
  }
  const Ints16 all = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
  float sum = 0;
  for (int lane = 0; lane < 16; ++lane) sum += static_cast<float>(all[lane]);
  return sum;
}

__attribute__((target("avx2,avxvnni"))) float int8_vnni256(std::size_t iterations) {
  Ints8 s0 = {}, s1 = {}, s2 = {}, s3 = {}, s4 = {}, s5 = {}, s6 = {}, s7 = {}, s8 = {}, s9 = {},
        s10 = {}, s11 = {};
  const Bytes32 weight = Bytes32{} + std::int8_t{3};
  for (std::size_t i = 0; i < iterations; ++i) {
    asm volatile(
        "%{vex%} vpdpbusd %12, %12, %0\n"
        "%{vex%} vpdpbusd %12, %12, %1\n"
        "%{vex%} vpdpbusd %12, %12, %2\n"
        "%{vex%} vpdpbusd %12, %12, %3\n"
        "%{vex%} vpdpbusd %12, %12, %4\n"
        "%{vex%} vpdpbusd %12, %12, %5\n"
        "%{vex%} vpdpbusd %12, %12, %6\n"
        "%{vex%} vpdpbusd %12, %12, %7\n"
        "%{vex%} vpdpbusd %12, %12, %8\n"
        "%{vex%} vpdpbusd %12, %12, %9\n"
        "%{vex%} vpdpbusd %12, %12, %10\n"
        "%{vex%} vpdpbusd %12, %12, %11\n"
        : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4), "+x"(s5), "+x"(s6), "+x"(s7), "+x"(s8),
          "+x"(s9), "+x"(s10), "+x"(s11)
        : "x"(weight));
  }
  const Ints8 all = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
  float sum = 0;
  for (int lane = 0; lane < 8; ++lane) sum += static_cast<float>(all[lane]);
  return sum;
}

__attribute__((target("avx2"))) float int8_avx2(std::size_t iterations) {
  Ints8 s0 = {}, s1 = {}, s2 = {}, s3 = {}, s4 = {}, s5 = {}, s6 = {}, s7 = {}, s8 = {}, s9 = {},
        s10 = {}, s11 = {};
  const Bytes32 weight = Bytes32{} + std::int8_t{3};
  const Shorts16 ones = Shorts16{} + std::int16_t{1};
  for (std::size_t i = 0; i < iterations; ++i) {
    asm volatile(
        "vpmaddubsw %12, %12, %%ymm15\nvpmaddwd %13, %%ymm15, %%ymm15\nvpaddd %%ymm15, %0, %0\n"
        "vpmaddubsw %12, %12, %%ymm15\nvpmaddwd %13, %%ymm15, %%ymm15\nvpaddd %%ymm15, %1, %1\n"
        "vpmaddubsw %12, %12, %%ymm15\nvpmaddwd %13, %%ymm15, %%ymm15\nvpaddd %%ymm15, %2, %2\n"
        "vpmaddubsw %12, %12, %%ymm15\nvpmaddwd %13, %%ymm15, %%ymm15\nvpaddd %%ymm15, %3, %3\n"
        "vpmaddubsw %12, %12, %%ymm15\nvpmaddwd %13, %%ymm15, %%ymm15\nvpaddd %%ymm15, %4, %4\n"
        "vpmaddubsw %12, %12, %%ymm15\nvpmaddwd %13, %%ymm15, %%ymm15\nvpaddd %%ymm15, %5, %5\n"
        "vpmaddubsw %12, %12, %%ymm15\nvpmaddwd %13, %%ymm15, %%ymm15\nvpaddd %%ymm15, %6, %6\n"
        "vpmaddubsw %12, %12, %%ymm15\nvpmaddwd %13, %%ymm15, %%ymm15\nvpaddd %%ymm15, %7, %7\n"
        "vpmaddubsw %12, %12, %%ymm15\nvpmaddwd %13, %%ymm15, %%ymm15\nvpaddd %%ymm15, %8, %8\n"
        "vpmaddubsw %12, %12, %%ymm15\nvpmaddwd %13, %%ymm15, %%ymm15\nvpaddd %%ymm15, %9, %9\n"
        "vpmaddubsw %12, %12, %%ymm15\nvpmaddwd %13, %%ymm15, %%ymm15\nvpaddd %%ymm15, %10, %10\n"
        "vpmaddubsw %12, %12, %%ymm15\nvpmaddwd %13, %%ymm15, %%ymm15\nvpaddd %%ymm15, %11, %11\n"
        : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4), "+x"(s5), "+x"(s6), "+x"(s7), "+x"(s8),
          "+x"(s9), "+x"(s10), "+x"(s11)
        : "x"(weight), "x"(ones)
        : "xmm15");
  }
  const Ints8 all = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
  float sum = 0;
  for (int lane = 0; lane < 8; ++lane) sum += static_cast<float>(all[lane]);
  return sum;
}

__attribute__((target("avx512f,avx512bw,avx512bf16"))) float bf16_512(std::size_t iterations) {
  Floats16 s0 = {}, s1 = {}, s2 = {}, s3 = {}, s4 = {}, s5 = {}, s6 = {}, s7 = {}, s8 = {}, s9 = {},
           s10 = {}, s11 = {};
  const Shorts32 weight = Shorts32{} + std::int16_t{0x3C00};  // 2^-7
  for (std::size_t i = 0; i < iterations; ++i) {
    asm volatile(
        "vdpbf16ps %12, %12, %0\n"
        "vdpbf16ps %12, %12, %1\n"
        "vdpbf16ps %12, %12, %2\n"
        "vdpbf16ps %12, %12, %3\n"
        "vdpbf16ps %12, %12, %4\n"
        "vdpbf16ps %12, %12, %5\n"
        "vdpbf16ps %12, %12, %6\n"
        "vdpbf16ps %12, %12, %7\n"
        "vdpbf16ps %12, %12, %8\n"
        "vdpbf16ps %12, %12, %9\n"
        "vdpbf16ps %12, %12, %10\n"
        "vdpbf16ps %12, %12, %11\n"
        : "+v"(s0), "+v"(s1), "+v"(s2), "+v"(s3), "+v"(s4), "+v"(s5), "+v"(s6), "+v"(s7), "+v"(s8),
          "+v"(s9), "+v"(s10), "+v"(s11)
        : "v"(weight));
  }
  const Floats16 all = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
  float sum = 0;
  for (int lane = 0; lane < 16; ++lane) sum += static_cast<float>(all[lane]);
  return sum;
}

// Clang 14 does not know the feature by name: bit 4 of EAX of CPUID leaf 7, subleaf 1.
bool has_avx_vnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 &&
         (eax & 1u << 4) != 0;
}

}  // namespace

std::vector<ProductLoop> int8_dot_product_loops() {
  __builtin_cpu_init();
  std::vector<ProductLoop> loops;
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw")) {
    loops.push_back({int8_vnni512, 2.0 * 64 * kSums});
  }
  if (has_avx_vnni()) loops.push_back({int8_vnni256, 2.0 * 32 * kSums});
  if (__builtin_cpu_supports("avx2")) loops.push_back({int8_avx2, 2.0 * 32 * kSums});
  return loops;
}

std::vector<ProductLoop> bf16_dot_product_loops() {
  __builtin_cpu_init();
  std::vector<ProductLoop> loops;
  if (__builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw")) {
    loops.push_back({bf16_512, 2.0 * 32 * kSums});
  }
  return loops;
}

}  // namespace tandem::device::cpu
