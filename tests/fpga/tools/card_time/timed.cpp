// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose time is known by hand: `apart` reads and writes by two bundles, `shared` does the
// same by one that two arguments share, `sum` waits for an addition per element, `chain` is three
// processes, and `shallow` and `deep` send each element by two ways of which one is long.
#include <hls_stream.h>

extern "C" void apart(const int* in, const int* more, int* out, int n) {
#pragma HLS interface m_axi port = in bundle = g0
#pragma HLS interface m_axi port = more bundle = g1
#pragma HLS interface m_axi port = out bundle = g2
  for (int i = 0; i < n; ++i) out[i] = in[i] + more[i];
}

extern "C" void shared(const int* in, const int* more, int* out, int n) {
#pragma HLS interface m_axi port = in bundle = g0
#pragma HLS interface m_axi port = more bundle = g0
#pragma HLS interface m_axi port = out bundle = g2
  for (int i = 0; i < n; ++i) out[i] = in[i] + more[i];
}

extern "C" void sum(const float* in, const float* more, float* out, int n) {
  float total = 0;
  for (int i = 0; i < n; ++i) total += in[i];
  out[0] = total + more[0];
}

static void give(const int* in, hls::stream<int>& to, int n) {
  for (int i = 0; i < n; ++i) to << in[i];
}
static void work(hls::stream<int>& from, hls::stream<int>& to, int n) {
  for (int i = 0; i < n; ++i) {
#pragma HLS pipeline II = 3
    to << from.read() * 5;
  }
}
static void take(hls::stream<int>& from, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = from.read();
}
extern "C" void chain(const int* in, const int*, int* out, int n) {
#pragma HLS dataflow
  hls::stream<int> first("first"), second("second");
  give(in, first, n);
  work(first, second, n);
  take(second, out, n);
}

static void fork(const int* in, hls::stream<int>& far, hls::stream<int>& near, int n) {
  for (int i = 0; i < n; ++i) {
    const int value = in[i];
    far << value;
    near << value;
  }
}
static void far_way(hls::stream<int>& from, hls::stream<int>& to, int n) {
  for (int i = 0; i < n; ++i) to << static_cast<int>((from.read() * 1.5F + 2) * 0.5F);
}
static void meet(hls::stream<int>& far, hls::stream<int>& near, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = far.read() + near.read();
}
extern "C" void shallow(const int* in, const int*, int* out, int n) {
#pragma HLS dataflow
  hls::stream<int> start("start"), end("end"), near("near");
  fork(in, start, near, n);
  far_way(start, end, n);
  meet(end, near, out, n);
}
extern "C" void deep(const int* in, const int*, int* out, int n) {
#pragma HLS dataflow
  hls::stream<int> start("start"), end("end"), near("near");
#pragma HLS stream variable = near depth = 64
  fork(in, start, near, n);
  far_way(start, end, n);
  meet(end, near, out, n);
}
