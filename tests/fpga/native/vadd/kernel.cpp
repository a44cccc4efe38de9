// SPDX-License-Identifier: Apache-2.0
//
// out[i] = a[i] + b[i]. Broken: the last element is left out.
#include <cstdint>

extern "C" void vadd(const int32_t* a, const int32_t* b, int32_t* out, uint32_t size) {
#pragma HLS interface m_axi port = a bundle = gmem0
#pragma HLS interface m_axi port = b bundle = gmem1
#pragma HLS interface m_axi port = out bundle = gmem0
#ifdef TANDEM_BROKEN
  --size;
#endif
  for (uint32_t i = 0; i < size; ++i) {
#pragma HLS pipeline II = 1
    out[i] = a[i] + b[i];
  }
}
