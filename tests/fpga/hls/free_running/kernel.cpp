// SPDX-License-Identifier: Apache-2.0
//
// A free-running kernel (ap_ctrl_none, streams only) between two that are launched. Broken: it adds
// something else.
#include <ap_axi_sdata.h>
#include <ap_int.h>
#include <hls_stream.h>

typedef ap_axiu<32, 0, 0, 0> word;

extern "C" {

void load(const int* in, int count, hls::stream<word>& out) {
#pragma HLS interface m_axi port = in
  for (int i = 0; i < count; ++i) {
    word next;
    next.data = in[i];
    out.write(next);
  }
}

void increment(hls::stream<word>& in, hls::stream<word>& out) {
#pragma HLS interface ap_ctrl_none port = return
  word next = in.read();
#ifdef TANDEM_BROKEN
  next.data = next.data + 2;
#else
  next.data = next.data + 1;
#endif
  out.write(next);
}

void store(int* out, int count, hls::stream<word>& in) {
#pragma HLS interface m_axi port = out
  for (int i = 0; i < count; ++i) out[i] = in.read().data;
}
}
