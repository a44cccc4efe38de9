// SPDX-License-Identifier: Apache-2.0
//
// Two running sums of given lengths, with asserted bounds.
#include <ap_int.h>

#include <cassert>
#include <cstring>

static const int kCount = 32;
typedef ap_int<8> Value;
typedef ap_int<13> Sum;
typedef ap_uint<8> Length;

extern "C" void top(Value* a, Value* b, Sum* x, Sum* y, Length x_length, Length y_length) {
#pragma HLS interface m_axi port = a bundle = a
#pragma HLS interface m_axi port = b bundle = b
#pragma HLS interface m_axi port = x bundle = x
#pragma HLS interface m_axi port = y bundle = y
  Value in_a[kCount], in_b[kCount];
  Sum out_x[kCount], out_y[kCount];
  memcpy(in_a, a, sizeof(in_a));
  memcpy(in_b, b, sizeof(in_b));
  Sum x_sum = 0, y_sum = 0;
  assert(x_length < 32);
  assert(y_length < 16);
  for (int at = 0; at <= x_length; ++at) {
    x_sum += in_a[at];
    out_x[at] = x_sum;
  }
  for (int at = 0; at <= y_length; ++at) {
    y_sum += in_b[at];
    out_y[at] = y_sum;
  }
  memcpy(x, out_x, sizeof(out_x));
  memcpy(y, out_y, sizeof(out_y));
}

extern "C" void call(char* const* memory) {
  top(reinterpret_cast<Value*>(memory[0]), reinterpret_cast<Value*>(memory[1]),
      reinterpret_cast<Sum*>(memory[2]), reinterpret_cast<Sum*>(memory[3]), 31, 15);
}
