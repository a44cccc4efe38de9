// SPDX-License-Identifier: Apache-2.0
//
// A product of matrices in device memory: a row of reads per element, one port each.
static const int kSize = 32;

extern "C" void top(const int a[kSize][kSize], const int b[kSize][kSize], int c[kSize][kSize]) {
#pragma HLS interface m_axi port = a bundle = a
#pragma HLS interface m_axi port = b bundle = b
#pragma HLS interface m_axi port = c bundle = c
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) {
#pragma HLS pipeline II = 1
      int sum = 0;
      for (int at = 0; at < kSize; ++at) sum += a[row][at] * b[at][column];
      c[row][column] = sum;
    }
  }
}

extern "C" void call(char* const* memory) {
  typedef int Row[kSize];
  top(reinterpret_cast<const Row*>(memory[0]), reinterpret_cast<const Row*>(memory[1]),
      reinterpret_cast<Row*>(memory[2]));
}
