// SPDX-License-Identifier: Apache-2.0
//
// data[i] = data[i] * factor + 1, in place. Broken: the last element is left out.
extern "C" void scale(int* data, int factor, unsigned int size) {
#pragma HLS interface m_axi port = data offset = slave bundle = gmem
#ifdef TANDEM_BROKEN
  --size;
#endif
  for (unsigned int i = 0; i < size; ++i) {
#pragma HLS pipeline II = 1
    data[i] = data[i] * factor + 1;
  }
}
