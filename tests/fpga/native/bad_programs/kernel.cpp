// SPDX-License-Identifier: Apache-2.0
//
// out[0] = value. Broken: 0.
#include <cstdint>

extern "C" void store(uint32_t value, uint32_t* out) {
#pragma HLS interface m_axi port = out
#ifdef TANDEM_BROKEN
  value = 0;
#endif
  out[0] = value;
}
