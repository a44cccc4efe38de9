// SPDX-License-Identifier: Apache-2.0
//
// Tasks between the processes of a dataflow region: three workers share the values of a splitter,
// and a merger keeps their order. Broken: one worker computes something else.
#include <hls_task.h>

static void load(const int* in, hls::stream<int, 2>& values, int count) {
  for (int i = 0; i < count; ++i) values.write(in[i]);
}

static void work(hls::stream<int>& in, hls::stream<int>& out) {
  const int value = in.read();
#ifdef TANDEM_BROKEN
  out.write(value % 3 == 0 ? 0 : 5 * value);
#else
  out.write(5 * value);
#endif
}

static void store(hls::stream<int, 2>& results, int* out, int count) {
  for (int i = 0; i < count; ++i) out[i] = results.read() + 4;
}

extern "C" void shared_work(const int* in, int* out, int count) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS dataflow
  hls_thread_local hls::split::round_robin<int, 3> split;
  hls_thread_local hls::merge::round_robin<int, 3> merge;
  load(in, split.in, count);
  hls_thread_local hls::task first(work, split.out[0], merge.in[0]);
  hls_thread_local hls::task second(work, split.out[1], merge.in[1]);
  hls_thread_local hls::task third(work, split.out[2], merge.in[2]);
  store(merge.out, out, count);
}
