// SPDX-License-Identifier: Apache-2.0
//
// UNROLLED: the pragma of a loop that is unrolled by TANDEM_UNROLL, which the compiler's options
// define.
#pragma once

#ifndef TANDEM_UNROLL
#define TANDEM_UNROLL 1
#endif
#define AS_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define UNROLLED_BY(copies) AS_PRAGMA(HLS unroll factor = copies)
#define UNROLLED UNROLLED_BY(TANDEM_UNROLL)
