// SPDX-License-Identifier: Apache-2.0
//
// Waits until the host sets flags[0], then answers in flags[1]. Broken: answers without waiting.
#include <cstdint>

extern "C" void gate(uint32_t* flags) {
#pragma HLS interface m_axi port = flags
  volatile uint32_t* const shared = flags;
#ifndef TANDEM_BROKEN
  while (shared[0] == 0) {
  }
#endif
  shared[1] = 1;
}
