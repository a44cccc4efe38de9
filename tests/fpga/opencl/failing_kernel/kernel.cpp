// SPDX-License-Identifier: Apache-2.0
//
// Writes `value` to out[0], or aborts when `value` is negative. Broken: it does not abort.
#include <cstdlib>

extern "C" void fragile(int* out, int value) {
#pragma HLS interface m_axi port = out bundle = gmem
#ifndef TANDEM_BROKEN
  if (value < 0) std::abort();
#endif
  out[0] = value;
}
