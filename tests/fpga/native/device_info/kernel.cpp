// SPDX-License-Identifier: Apache-2.0
//
// Doubles a number. Broken: leaves it as it is.
#include <cstdint>

extern "C" void twice(int32_t* data, uint32_t size) {
#pragma HLS interface m_axi port = data
  for (uint32_t i = 0; i < size; ++i) {
#ifndef TANDEM_BROKEN
    data[i] *= 2;
#endif
  }
}
