// SPDX-License-Identifier: Apache-2.0
//
// The kernel in sums.cpp and its types.
#pragma once

#include <ap_int.h>
#include <hls_stream.h>

#define COUNT 50
typedef ap_int<24> sum_t;

extern "C" void sums(const int* in, int* out);
