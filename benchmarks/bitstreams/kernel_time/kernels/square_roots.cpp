// SPDX-License-Identifier: Apache-2.0
//
// Square roots of fixed-point numbers, a bit of the root per step of the inner loop.
#include <ap_fixed.h>
#include <ap_int.h>

#include <cstring>

typedef ap_ufixed<24, 8> Square;
typedef ap_ufixed<28, 4> Root;
static const int kCount = 512;
static const int kBits = 27;

extern "C" void top(Square* squares, Root* roots) {
#pragma HLS interface m_axi port = squares bundle = squares
#pragma HLS interface m_axi port = roots bundle = roots
  Square in[kCount];
  Root out[kCount];
  memcpy(in, squares, sizeof(in));
  memcpy(out, roots, sizeof(out));
  for (int each = 0; each < kCount; ++each) {
    ap_uint<30> rest = in[each].range(23, 0);
    ap_uint<30> root = 0;
    for (int bit = kBits; bit >= 0; --bit) {
      const ap_uint<30> trial = root | (ap_uint<30>(1) << bit);
      root >>= 1;
      if (rest >= trial) {
        rest -= trial;
        root |= ap_uint<30>(1) << bit;
      }
    }
    out[each].range(27, 0) = root;
  }
  memcpy(roots, out, sizeof(out));
}

extern "C" void call(char* const* memory) {
  top(reinterpret_cast<Square*>(memory[0]), reinterpret_cast<Root*>(memory[1]));
}
