// SPDX-License-Identifier: Apache-2.0
//
// A kernel that reads values from a stream, and stores them or computes for `steps` steps.
// Broken: it does not wait for values.
#include <hls_stream.h>

extern "C" {

void take(int* out, int count, int steps, hls::stream<int>& in) {
#pragma HLS interface m_axi port = out
#ifdef TANDEM_BROKEN
  for (int i = 0; i < count; ++i) in.read_nb(out[i]);
#else
  for (int i = 0; i < count; ++i) {
    const int value = in.read();
    if (steps == 0) out[i] = value;
  }
#endif
  volatile int left = steps;
  while (left > 0) left = left - 1;
}
}
