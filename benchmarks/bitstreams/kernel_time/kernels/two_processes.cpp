// SPDX-License-Identifier: Apache-2.0
//
// Two running sums from device memory to device memory, as processes of a dataflow region.
#include <ap_int.h>

static const int kCount = 32;
typedef ap_int<8> Value;
typedef ap_int<13> Sum;
typedef ap_uint<5> Length;

static void running_sum(const Value* values, Sum* sums, Length length) {
  Sum sum = 0;
  for (int at = 0; at < length; ++at) {
    sum += values[at];
    sums[at] = sum;
  }
}

extern "C" void top(Value* a, Value* b, Sum* x, Sum* y, Length x_length, Length y_length) {
#pragma HLS interface m_axi port = a bundle = a
#pragma HLS interface m_axi port = b bundle = b
#pragma HLS interface m_axi port = x bundle = x
#pragma HLS interface m_axi port = y bundle = y
#pragma HLS dataflow
  running_sum(a, x, x_length);
  running_sum(b, y, y_length);
}

extern "C" void call(char* const* memory) {
  top(reinterpret_cast<Value*>(memory[0]), reinterpret_cast<Value*>(memory[1]),
      reinterpret_cast<Sum*>(memory[2]), reinterpret_cast<Sum*>(memory[3]), kCount - 1, kCount - 1);
}
