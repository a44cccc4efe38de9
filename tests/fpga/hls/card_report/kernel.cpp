// SPDX-License-Identifier: Apache-2.0
//
// Bugs of streams, chosen by `bug`: 0 none, 1 both sides read first, 2 one value too many is read,
// 3 a stream is too shallow, 4 two values are left. Broken: there are no bugs.
#include <hls_stream.h>

#define COUNT 64
#define SHALLOW 8

static void give(const int* in, hls::stream<int>& head, hls::stream<int>& tail,
                 hls::stream<int>& reply, int bug) {
  if (bug == 1) (void)reply.read();
  const int count = bug == 4 ? COUNT + 2 : COUNT;
  for (int i = 0; i < count; ++i) head.write(in[i % COUNT]);
  for (int i = 0; i < COUNT; ++i) tail.write(in[i]);
}

static void take(hls::stream<int>& head, hls::stream<int>& tail, hls::stream<int>& reply, int* out,
                 int bug) {
  const int head_first = bug != 3;
  for (int i = 0; i < COUNT; ++i) out[i] = head_first ? head.read() : tail.read();
  for (int i = 0; i < COUNT; ++i) out[i] += head_first ? tail.read() : head.read();
  if (bug == 2) out[0] += tail.read();
  if (bug == 1) reply.write(1);
}

extern "C" void trial(const int* in, int* out, int bug) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#ifdef TANDEM_BROKEN
  bug = 0;
#endif
  hls::stream<int> head("head"), tail("tail"), reply("reply");
#pragma HLS stream variable = head depth = SHALLOW
#pragma HLS dataflow
  give(in, head, tail, reply, bug);
  take(head, tail, reply, out, bug);
}
