// SPDX-License-Identifier: Apache-2.0
//
// Two processes exchange values; with `crossed` set both read first, which is a deadlock. `ask` and
// `answer` do the same as two kernels. Broken: neither reads first.
#include <hls_stream.h>

#ifdef TANDEM_BROKEN
#define LISTENS_FIRST(crossed) false
#else
#define LISTENS_FIRST(crossed) (crossed)
#endif

static void left(hls::stream<int>& from_right, hls::stream<int>& to_right, int crossed) {
  const int heard = LISTENS_FIRST(crossed) ? from_right.read() : 0;
  to_right.write(heard + 1);
  if (!LISTENS_FIRST(crossed)) (void)from_right.read();
}

static void right(hls::stream<int>& from_left, hls::stream<int>& to_left, int* out) {
  const int heard = from_left.read();
  to_left.write(heard);
  *out = heard;
}

extern "C" {

void exchange(int* out, int crossed) {
#pragma HLS interface m_axi port = out
#pragma HLS dataflow
  hls::stream<int> forth("forth"), back("back");
  left(back, forth, crossed);
  right(forth, back, out);
}

void ask(int crossed, hls::stream<int>& question, hls::stream<int>& reply) {
  left(reply, question, crossed);
}

void answer(int* out, hls::stream<int>& question, hls::stream<int>& reply) {
#pragma HLS interface m_axi port = out
  right(question, reply, out);
}
}
