// SPDX-License-Identifier: Apache-2.0
//
// out[i] = in[0] + ... + in[i], through a stream.
#include "sums.h"
#ifdef SUMS_TYPO
SUMS_TYPO
#endif

static void read_all(const int* in, hls::stream<sum_t>& values) {
  for (int i = 0; i < COUNT; ++i) values.write(in[i]);
}

static void write_all(hls::stream<sum_t>& values, int* out) {
  sum_t sum = 0;
loop_of_sums:
  for (int i = 0; i < COUNT; ++i) {
    sum += values.read();
    out[i] = sum;
  }
}

extern "C" void sums(const int* in, int* out) {
#pragma HLS INTERFACE m_axi port = in bundle = gmem depth = 50
#pragma HLS INTERFACE m_axi port = out bundle = gmem depth = 50
#pragma HLS DATAFLOW
  hls::stream<sum_t> values("values");
  read_all(in, values);
  write_all(values, out);
}
