// SPDX-License-Identifier: Apache-2.0
//
// out[i] = 2 in[i], through two streams. `bug`: 0 none, 1 the first stream is too shallow, 2 both
// processes read first, 3 two values are left, 4 a write beyond a buffer of 4096 bytes.
#include <hls_stream.h>

#define COUNT 48

static void give(const int* in, hls::stream<int>& head, hls::stream<int>& tail,
                 hls::stream<int>& reply, int bug) {
  if (bug == 2) (void)reply.read();
  for (int i = 0; i < COUNT; ++i) head.write(in[i]);
  for (int i = 0; i < COUNT + (bug == 3 ? 2 : 0); ++i) tail.write(in[i % COUNT]);
}

static void take(hls::stream<int>& head, hls::stream<int>& tail, hls::stream<int>& reply, int* out,
                 int bug) {
  const bool tail_first = bug == 1;
  for (int i = 0; i < COUNT; ++i) out[i] = tail_first ? tail.read() : head.read();
  for (int i = 0; i < COUNT; ++i) out[i] += tail_first ? head.read() : tail.read();
  if (bug == 2) reply.write(1);
  if (bug == 4) out[1024] = 0;
}

extern "C" void crossed(const int* in, int* out, int bug) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
  hls::stream<int> head;
#pragma HLS stream variable = head depth = 64
  hls::stream<int> tail, reply;
#pragma HLS stream variable = tail depth = 4
#pragma HLS dataflow
  give(in, head, tail, reply, bug);
  take(head, tail, reply, out, bug);
}
