// SPDX-License-Identifier: Apache-2.0
//
// Records in a kernel library which CPU features its code was compiled for.
//
// v++ compiles with -march=native unless TANDEM_KERNEL_FLAGS says otherwise, and a bitstream may
// move to another machine. So the card compares the features before it runs any of the code. The
// glue of C++ kernels includes this file. C++11. Source: the predefined macros of GCC and Clang for
// x86.
#pragma once

#include "kernel_entry.h"

namespace tandem_glue {

__attribute__((used)) static const char cpu_features[] = TANDEM_CPU_FEATURES_MARK
#ifdef __SSE3__
    "sse3 "
#endif
#ifdef __SSSE3__
    "ssse3 "
#endif
#ifdef __SSE4_1__
    "sse4.1 "
#endif
#ifdef __SSE4_2__
    "sse4.2 "
#endif
#ifdef __POPCNT__
    "popcnt "
#endif
#ifdef __AVX__
    "avx "
#endif
#ifdef __AVX2__
    "avx2 "
#endif
#ifdef __FMA__
    "fma "
#endif
#ifdef __BMI__
    "bmi "
#endif
#ifdef __BMI2__
    "bmi2 "
#endif
#ifdef __FMA4__
    "fma4 "
#endif
#ifdef __XOP__
    "xop "
#endif
#ifdef __AVX512F__
    "avx512f "
#endif
#ifdef __AVX512VL__
    "avx512vl "
#endif
#ifdef __AVX512BW__
    "avx512bw "
#endif
#ifdef __AVX512DQ__
    "avx512dq "
#endif
#ifdef __AVX512CD__
    "avx512cd "
#endif
#ifdef __AVX512IFMA__
    "avx512ifma "
#endif
#ifdef __AVX512VBMI__
    "avx512vbmi "
#endif
#ifdef __AVX512VBMI2__
    "avx512vbmi2 "
#endif
#ifdef __AVX512VNNI__
    "avx512vnni "
#endif
#ifdef __AVX512BITALG__
    "avx512bitalg "
#endif
#ifdef __AVX512VPOPCNTDQ__
    "avx512vpopcntdq "
#endif
#ifdef __AVX512BF16__
    "avx512bf16 "
#endif
#ifdef __GFNI__
    "gfni "
#endif
#ifdef __LZCNT__
    "lzcnt "
#endif
#ifdef __F16C__
    "f16c "
#endif
#ifdef __MOVBE__
    "movbe "
#endif
#ifdef __AVXVNNI__
    "avxvnni "
#endif
#ifdef __AVX512FP16__
    "avx512fp16 "
#endif
    "";

}  // namespace tandem_glue
