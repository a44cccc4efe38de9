// SPDX-License-Identifier: Apache-2.0
//
// A pipeline of stages made by a loop over an array of streams, inside a dataflow region.
// Broken: one stage is left out.
#include <hls_stream.h>

constexpr int kStages = 8;

static void load(const int* in, hls::stream<int>& first, int count) {
  for (int i = 0; i < count; ++i) first << in[i];
}

static void stage(hls::stream<int>& in, hls::stream<int>& out, int addend, int count) {
  for (int i = 0; i < count; ++i) {
    int value;
    in >> value;
    out << value + addend;
  }
}

static void store(hls::stream<int>& last, int* out, int count) {
  for (int i = 0; i < count; ++i) out[i] = last.read();
}

extern "C" void stages(const int* in, int* out, int count) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
  static hls::stream<int> streams[kStages + 1];
#pragma HLS stream variable = streams depth = 16
#pragma HLS dataflow
  store(streams[kStages], out, count);
  for (int i = kStages - 1; i >= 0; --i) {
#pragma HLS unroll
#ifdef TANDEM_BROKEN
    stage(streams[i], streams[i + 1], i == 3 ? 0 : i, count);
#else
    stage(streams[i], streams[i + 1], i, count);
#endif
  }
  load(in, streams[0], count);
}
