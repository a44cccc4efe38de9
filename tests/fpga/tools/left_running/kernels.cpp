// SPDX-License-Identifier: Apache-2.0
//
// Two linked kernels. The reader may wait for a value that no writer gives.
#include <hls_stream.h>

extern "C" void give(int count, hls::stream<int>& out) {
  for (int i = 0; i < count; i++) out.write(i);
}

extern "C" void take(int* sum, int count, hls::stream<int>& in) {
#pragma HLS INTERFACE m_axi port = sum bundle = gmem
  *sum = 0;
  for (int i = 0; i < count; i++) *sum += in.read();
}
