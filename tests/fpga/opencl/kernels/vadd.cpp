// SPDX-License-Identifier: Apache-2.0
//
// out[i] = a[i] + b[i]. Broken: the last element is left out.
extern "C" void vadd(const int* a, const int* b, int* out, unsigned int size) {
#pragma HLS interface m_axi port = a offset = slave bundle = gmem0
#pragma HLS interface m_axi port = b offset = slave bundle = gmem1
#pragma HLS interface m_axi port = out offset = slave bundle = gmem0
#ifdef TANDEM_BROKEN
  --size;
#endif
  for (unsigned int i = 0; i < size; ++i) {
#pragma HLS pipeline II = 1
    out[i] = a[i] + b[i];
  }
}
