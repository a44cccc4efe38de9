// SPDX-License-Identifier: Apache-2.0
//
// A kernel that writes values to a stream and one that reads them. Broken: the reader does not
// wait.
#include <hls_stream.h>

extern "C" {

void give(int count, int first, hls::stream<int>& out) {
  for (int i = 0; i < count; ++i) out.write(first + i);
}

void take(int* out, int count, hls::stream<int>& in) {
#pragma HLS interface m_axi port = out
  for (int i = 0; i < count; ++i) {
#ifdef TANDEM_BROKEN
    int value = 0;
    out[i] = in.read_nb(value) ? value : -1;
#else
    out[i] = in.read();
#endif
  }
}
}
