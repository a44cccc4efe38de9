// SPDX-License-Identifier: Apache-2.0
//
// A sum over a prefix of device memory: each read depends on a condition.
#include <ap_int.h>

static const int kCount = 32;
typedef ap_int<8> Value;
typedef ap_int<13> Sum;

extern "C" void top(Value* values, ap_uint<5> width, Sum* result) {
#pragma HLS interface m_axi port = values bundle = values
#pragma HLS interface s_axilite port = result
  Sum sum = 0;
  for (ap_uint<5> at = 0; at < kCount - 1; ++at) {
    if (at < width) sum += values[at];
  }
  *result = sum;
}

extern "C" void call(char* const* memory) {
  Sum result;
  top(reinterpret_cast<Value*>(memory[0]), 16, &result);
}
