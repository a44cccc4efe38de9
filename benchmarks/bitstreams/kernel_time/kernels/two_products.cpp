// SPDX-License-Identifier: Apache-2.0
//
// A sum of two products of a matrix and a vector, of doubles in local memory.
static const int kSize = 90;
// Not static, so that their values may be used elsewhere.
double a[kSize][kSize], b[kSize][kSize], x[kSize], y[kSize];

extern "C" void top(double alpha, double beta) {
  for (int row = 0; row < kSize; ++row) {
    double by_a = 0, by_b = 0;
    for (int column = 0; column < kSize; ++column) {
      by_a += a[row][column] * x[column];
      by_b += b[row][column] * x[column];
    }
    y[row] = alpha * by_a + beta * by_b;
  }
}

extern "C" void call(char* const*) { top(1, 2); }
