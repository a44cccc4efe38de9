// SPDX-License-Identifier: Apache-2.0
//
// A sum over a perfect nest that keeps its result between calls.
#include <ap_int.h>

#include <cstring>

static const int kCount = 20;
typedef ap_int<5> Value;
typedef ap_int<20> Sum;

extern "C" Sum top(Value* values) {
#pragma HLS interface m_axi port = values bundle = values
  static Sum sum;
  Value in[kCount];
  memcpy(in, values, sizeof(in));
  for (int row = 0; row < kCount; ++row) {
    for (int column = 0; column < kCount; ++column) sum += in[column] * row;
  }
  return sum;
}

extern "C" void call(char* const* memory) { top(reinterpret_cast<Value*>(memory[0])); }
