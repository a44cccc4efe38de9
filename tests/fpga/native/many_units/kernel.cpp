// SPDX-License-Identifier: Apache-2.0
//
// data[i] += value, and data[i] = value. Broken: the first kernel adds one less.
#include <cstdint>

extern "C" void add(uint32_t* data, uint32_t size, uint32_t value) {
#pragma HLS interface m_axi port = data
#ifdef TANDEM_BROKEN
  --value;
#endif
  for (uint32_t i = 0; i < size; ++i) data[i] += value;
}

extern "C" void set(uint32_t value, uint32_t* data, uint32_t size) {
#pragma HLS interface m_axi port = data
  for (uint32_t i = 0; i < size; ++i) data[i] = value;
}
