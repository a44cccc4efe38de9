// SPDX-License-Identifier: Apache-2.0
//
// The kernel of the tools' cases: out[i] = a[i] + b[i]; with TANDEM_BROKEN it forgets the last one.
extern "C" {

// a, b, out: [length] in global memory.
void vadd(const unsigned* a, const unsigned* b, unsigned* out, int length) {
#pragma HLS INTERFACE m_axi port = a bundle = gmem0
#pragma HLS INTERFACE m_axi port = b bundle = gmem1
#pragma HLS INTERFACE m_axi port = out bundle = gmem0
#ifdef TANDEM_BROKEN
  --length;
#endif
  for (int i = 0; i < length; ++i) {
#pragma HLS PIPELINE II = 1
    out[i] = a[i] + b[i];
  }
}
}
