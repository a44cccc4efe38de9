// SPDX-License-Identifier: Apache-2.0
//
// A product of matrices of doubles in local memory: an accumulation per element.
#include <cstring>

#include "unrolled.h"

static const int kSize = 64;

extern "C" void top(const double* a, const double* b, double* c) {
#pragma HLS interface m_axi port = a bundle = a
#pragma HLS interface m_axi port = b bundle = b
#pragma HLS interface m_axi port = c bundle = c
  double left[kSize * kSize], right[kSize * kSize], product[kSize * kSize];
  memcpy(left, a, sizeof(left));
  memcpy(right, b, sizeof(right));
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
      double sum = 0;
      for (int at = 0; at < kSize; ++at) {
        UNROLLED
        sum += left[row * kSize + at] * right[at * kSize + column];
      }
      product[row * kSize + column] = sum;
    }
  }
  memcpy(c, product, sizeof(product));
}

extern "C" void call(char* const* memory) {
  top(reinterpret_cast<const double*>(memory[0]), reinterpret_cast<const double*>(memory[1]),
      reinterpret_cast<double*>(memory[2]));
}
