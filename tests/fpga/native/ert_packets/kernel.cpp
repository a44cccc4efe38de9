// SPDX-License-Identifier: Apache-2.0
//
// out[0] = a + 100 * b. Broken: 10 * b.
#include <cstdint>

extern "C" void combine(uint32_t a, uint32_t b, uint32_t* out) {
#pragma HLS interface m_axi port = out
#pragma HLS interface s_axilite port = a
#pragma HLS interface s_axilite port = b
#pragma HLS interface s_axilite port = return
#ifdef TANDEM_BROKEN
  out[0] = a + 10 * b;
#else
  out[0] = a + 100 * b;
#endif
}
