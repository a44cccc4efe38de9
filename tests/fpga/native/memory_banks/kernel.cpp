// SPDX-License-Identifier: Apache-2.0
//
// Writes the sum of a to out[0]. Broken: one too many.
#include <cstdint>

extern "C" void sum(const uint32_t* a, uint32_t* out, uint32_t size) {
#pragma HLS interface m_axi port = a bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
  uint32_t total = 0;
  for (uint32_t i = 0; i < size; ++i) total += a[i];
#ifdef TANDEM_BROKEN
  ++total;
#endif
  out[0] = total;
}
