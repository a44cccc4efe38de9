// SPDX-License-Identifier: Apache-2.0
//
// Writes every scalar argument into its place of `out`. Broken: the 64-bit one arrives as 32 bits.
#include <cstdint>

struct Pair {
  int first;
  float second;
};

extern "C" void scalars(double* out, char c, unsigned char uc, short s, unsigned short us, int i,
                        unsigned int ui, int64_t l, uint64_t ul, float f, double d, bool b,
                        Pair pair) {
#pragma HLS interface m_axi port = out bundle = gmem
#ifdef TANDEM_BROKEN
  l = static_cast<int32_t>(l);
#endif
  out[0] = c;
  out[1] = uc;
  out[2] = s;
  out[3] = us;
  out[4] = i;
  out[5] = ui;
  out[6] = static_cast<double>(l);
  out[7] = static_cast<double>(ul);
  out[8] = f;
  out[9] = d;
  out[10] = b ? 1 : 0;
  out[11] = pair.first;
  out[12] = pair.second;
}
