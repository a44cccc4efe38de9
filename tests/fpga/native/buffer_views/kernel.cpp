// SPDX-License-Identifier: Apache-2.0
//
// Adds the index to every element, in place. Broken: starts at the second.
#include <cstdint>

extern "C" void add_index(uint32_t* data, uint32_t size) {
#pragma HLS interface m_axi port = data
#ifdef TANDEM_BROKEN
  uint32_t i = 1;
#else
  uint32_t i = 0;
#endif
  for (; i < size; ++i) data[i] += i + 1;
}
