// SPDX-License-Identifier: Apache-2.0
//
// out[0] = 1234. Broken: 0.
extern "C" void constant(int* out) {
#pragma HLS interface m_axi port = out
#ifdef TANDEM_BROKEN
  out[0] = 0;
#else
  out[0] = 1234;
#endif
}
