// SPDX-License-Identifier: Apache-2.0
//
// The kernel in scaled.cpp and its types.
#pragma once

#include <ap_fixed.h>

#define COUNT 3
typedef ap_fixed<16, 10> value_t;

void scaled(value_t in[COUNT], value_t out[COUNT], value_t weight);
