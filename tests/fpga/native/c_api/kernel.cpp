// SPDX-License-Identifier: Apache-2.0
//
// out[i] = a[i] - b[i]. Broken: b[i] - a[i].
extern "C" void subtract(const int* a, const int* b, int* out, int size) {
#pragma HLS interface m_axi port = a bundle = gmem0
#pragma HLS interface m_axi port = b bundle = gmem1
#pragma HLS interface m_axi port = out bundle = gmem0
  for (int i = 0; i < size; ++i) {
#ifdef TANDEM_BROKEN
    out[i] = b[i] - a[i];
#else
    out[i] = a[i] - b[i];
#endif
  }
}
