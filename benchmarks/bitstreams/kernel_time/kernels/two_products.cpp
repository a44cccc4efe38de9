// SPDX-License-Identifier: Apache-2.0
//
// A sum of two products of a matrix and a vector, of doubles that are copied to local memory.
#include <cstring>

#include "unrolled.h"

#ifndef TANDEM_SIZE
#define TANDEM_SIZE 90
#endif

static const int kSize = TANDEM_SIZE;

extern "C" void top(double alpha, double beta, const double* from_a, const double* from_b,
                    const double* from_x, double* to_y) {
#pragma HLS interface m_axi port = from_a bundle = a
#pragma HLS interface m_axi port = from_b bundle = b
#pragma HLS interface m_axi port = from_x bundle = x
#pragma HLS interface m_axi port = to_y bundle = y
  double a[kSize][kSize], b[kSize][kSize], x[kSize], y[kSize];
  memcpy(a, from_a, sizeof(a));
  memcpy(b, from_b, sizeof(b));
  memcpy(x, from_x, sizeof(x));
  for (int row = 0; row < kSize; ++row) {
    double by_a = 0, by_b = 0;
    for (int column = 0; column < kSize; ++column) {
      UNROLLED
      by_a += a[row][column] * x[column];
      by_b += b[row][column] * x[column];
    }
    y[row] = alpha * by_a + beta * by_b;
  }
  memcpy(to_y, y, sizeof(y));
}

extern "C" void call(char* const* memory) {
  top(1, 2, reinterpret_cast<const double*>(memory[0]), reinterpret_cast<const double*>(memory[1]),
      reinterpret_cast<const double*>(memory[2]), reinterpret_cast<double*>(memory[3]));
}
