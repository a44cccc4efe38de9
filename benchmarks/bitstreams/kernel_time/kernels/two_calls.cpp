// SPDX-License-Identifier: Apache-2.0
//
// Running sums of two arrays, by two calls of one function.
#include <ap_int.h>

#include <cstring>

static const int kCount = 32;
typedef ap_int<8> Value;
typedef ap_int<13> Sum;

static void running_sum(const Value values[kCount], Sum sums[kCount], ap_uint<5> limit) {
  Sum sum = 0;
  for (int at = 0; at < limit; ++at) {
    sum += values[at];
    sums[at] = sum;
  }
}

extern "C" void top(Value* a, Value* b, Sum* x, Sum* y) {
#pragma HLS interface m_axi port = a bundle = a
#pragma HLS interface m_axi port = b bundle = b
#pragma HLS interface m_axi port = x bundle = x
#pragma HLS interface m_axi port = y bundle = y
  Value in_a[kCount], in_b[kCount];
  Sum out_x[kCount], out_y[kCount];
  memcpy(in_a, a, sizeof(in_a));
  memcpy(in_b, b, sizeof(in_b));
  running_sum(in_a, out_x, kCount - 1);
  running_sum(in_b, out_y, kCount - 1);
  memcpy(x, out_x, sizeof(out_x));
  memcpy(y, out_y, sizeof(out_y));
}

extern "C" void call(char* const* memory) {
  top(reinterpret_cast<Value*>(memory[0]), reinterpret_cast<Value*>(memory[1]),
      reinterpret_cast<Sum*>(memory[2]), reinterpret_cast<Sum*>(memory[3]));
}
