// SPDX-License-Identifier: Apache-2.0
//
// Counts for a while, then writes `value`. Broken: writes another value.
#include <cstdint>

extern "C" void count_up(uint32_t turns, uint32_t value, uint32_t* out) {
#pragma HLS interface m_axi port = out
  volatile uint32_t counted = 0;
  while (counted < turns) counted = counted + 1;
#ifdef TANDEM_BROKEN
  ++value;
#endif
  out[0] = value;
}
