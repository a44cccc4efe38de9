// SPDX-License-Identifier: Apache-2.0
//
// out = FACTOR * in, in two processes joined by a stream.
#include <ap_int.h>
#include <hls_stream.h>

#include "factor.h"

static void load(const int* in, hls::stream<int>& values, int count) {
  for (int i = 0; i < count; ++i) {
#pragma HLS pipeline II = 1
    values.write(in[i]);
  }
}

static void store(hls::stream<int>& values, int* out, int count) {
  for (int i = 0; i < count; ++i) {
#pragma HLS pipeline II = 1
    const ap_int<40> product = ap_int<40>(values.read()) * FACTOR;
    out[i] = product.to_int();
  }
}

extern "C" void vscale(const int* in, int* out, int count) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS dataflow
  hls::stream<int> values("values");
  load(in, values, count);
  store(values, out, count);
}
