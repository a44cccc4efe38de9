// SPDX-License-Identifier: Apache-2.0
//
// out[i] = weight * in[i].
#include "scaled.h"

void scaled(value_t in[COUNT], value_t out[COUNT], value_t weight) {
#pragma HLS ARRAY_RESHAPE variable = in complete dim = 0
  for (int i = 0; i < COUNT; ++i) out[i] = in[i] * weight;
}
