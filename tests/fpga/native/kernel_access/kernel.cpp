// SPDX-License-Identifier: Apache-2.0
//
// out[0] = value * 3, and the register `last` tells the value. Broken: 2.
#include <cstdint>

extern "C" void triple(uint32_t value, uint32_t* out, uint32_t* last) {
#pragma HLS interface s_axilite port = value
#pragma HLS interface m_axi port = out
#pragma HLS interface s_axilite port = last
#pragma HLS interface s_axilite port = return
#ifdef TANDEM_BROKEN
  out[0] = value * 2;
#else
  out[0] = value * 3;
#endif
  *last = value;
}
