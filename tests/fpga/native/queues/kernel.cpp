// SPDX-License-Identifier: Apache-2.0
//
// data[i] = factor * data[i] + 1, so that the order of two launches shows. Broken: without the one.
#include <cstdint>

extern "C" void affine(uint32_t* data, uint32_t size, uint32_t factor) {
#pragma HLS interface m_axi port = data
#ifdef TANDEM_BROKEN
  const uint32_t one = 0;
#else
  const uint32_t one = 1;
#endif
  for (uint32_t i = 0; i < size; ++i) data[i] = factor * data[i] + one;
}
