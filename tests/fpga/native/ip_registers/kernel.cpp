// SPDX-License-Identifier: Apache-2.0
//
// out[0] = in * in, and result = in + 1 in a register. Broken: the register gets in.
#include <cstdint>

extern "C" void square(uint32_t in, uint32_t* out, uint32_t& result) {
#pragma HLS interface s_axilite port = in
#pragma HLS interface m_axi port = out
#pragma HLS interface s_axilite port = result
#pragma HLS interface s_axilite port = return
  reinterpret_cast<volatile uint32_t*>(out)[0] = in * in;
  reinterpret_cast<volatile uint32_t*>(out)[1] += 1;
#ifdef TANDEM_BROKEN
  result = in;
#else
  result = in + 1;
#endif
}
