// SPDX-License-Identifier: Apache-2.0
//
// Counts its calls in memory: data[0] += step. Broken: counts every second call.
#include <cstdint>

extern "C" void tick(uint32_t* data, uint32_t step) {
#pragma HLS interface ap_ctrl_chain port = return
#pragma HLS interface m_axi port = data
#pragma HLS interface s_axilite port = step
#ifdef TANDEM_BROKEN
  static uint32_t calls = 0;
  if (++calls % 2 == 0) return;
#endif
  reinterpret_cast<volatile uint32_t*>(data)[0] += step;
}
