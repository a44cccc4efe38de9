// SPDX-License-Identifier: Apache-2.0
//
// Words of 512 bits: sixteen lanes are taken apart by range(), changed, joined in reverse order by
// concatenation, and the word is rotated. Broken: the lanes keep their order.
#include <ap_int.h>

typedef ap_uint<512> Word;

extern "C" void reorder(const Word* in, Word* out, ap_uint<32>* parities, int size,
                        ap_uint<32> mask) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS interface m_axi port = parities bundle = gmem1
  for (int i = 0; i < size; ++i) {
#pragma HLS pipeline II = 1
    const Word word = in[i];
    Word joined = 0;
    for (int lane = 0; lane < 16; ++lane) {
      const ap_uint<32> value = word.range(32 * lane + 31, 32 * lane) ^ mask;
#ifdef TANDEM_BROKEN
      joined.range(32 * lane + 31, 32 * lane) = value;
#else
      joined = (joined.range(479, 0), value);
#endif
    }
    parities[i] = (joined.xor_reduce(), ap_uint<31>(joined.countLeadingZeros()));
    joined.lrotate(i);
    out[i] = joined;
  }
}
