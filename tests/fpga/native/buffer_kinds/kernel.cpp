// SPDX-License-Identifier: Apache-2.0
//
// Copies with one added to every element. Broken: nothing is added.
#include <cstdint>

extern "C" void increment(const uint32_t* in, uint32_t* out, uint32_t size) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#ifdef TANDEM_BROKEN
  const uint32_t step = 0;
#else
  const uint32_t step = 1;
#endif
  for (uint32_t i = 0; i < size; ++i) out[i] = in[i] + step;
}
