// SPDX-License-Identifier: Apache-2.0
//
// out[i] = weight * in[i].
#include "scaled.h"

static void multiply(value_t in[COUNT], value_t products[COUNT], value_t weight) {
  for (int i = 0; i < COUNT; ++i) products[i] = in[i] * weight;
}

static void copy(value_t products[COUNT], value_t out[COUNT]) {
  for (int i = 0; i < COUNT; ++i) out[i] = products[i];
}

void scaled(value_t in[COUNT], value_t out[COUNT], value_t weight) {
#pragma HLS ARRAY_RESHAPE variable = in complete dim = 0
#pragma HLS DATAFLOW
  value_t products[COUNT];
  multiply(in, products, weight);
  copy(products, out);
}
