// SPDX-License-Identifier: Apache-2.0
//
// Fails on request: mode 1 throws, 2 reads far outside the card, 3 ends the process. Otherwise
// out[0] = 77. Broken: never fails.
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

extern "C" void fragile(uint32_t mode, uint32_t* out) {
#pragma HLS interface m_axi port = out
#ifdef TANDEM_BROKEN
  mode = 0;
#endif
  if (mode == 1) throw std::runtime_error("as it was told");
  if (mode == 2) out[0] = static_cast<volatile uint32_t*>(out)[uint64_t{1} << 40];
  if (mode == 3) std::exit(0);
  out[0] = 77;
}
