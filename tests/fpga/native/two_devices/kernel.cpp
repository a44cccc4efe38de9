// SPDX-License-Identifier: Apache-2.0
//
// out[i] = in[i] + 1. Broken: + 2.
#include <cstdint>

extern "C" void next(const uint32_t* in, uint32_t* out, uint32_t size) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#ifdef TANDEM_BROKEN
  const uint32_t step = 2;
#else
  const uint32_t step = 1;
#endif
  for (uint32_t i = 0; i < size; ++i) out[i] = in[i] + step;
}
