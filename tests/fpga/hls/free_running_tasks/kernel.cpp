// SPDX-License-Identifier: Apache-2.0
//
// A free-running kernel of tasks only, two workers behind a load balancer, between two launched
// kernels. Values carry their place, since the order of the workers is open. Broken: one worker
// does not change the value.
#include <hls_task.h>

struct placed {
  int place;
  int value;
};

static void work(hls::stream<placed>& in, hls::stream<placed>& out, int addend) {
  placed next = in.read();
  next.value += addend;
  out.write(next);
}

static void pass(hls::stream<placed>& in, hls::stream<placed>& out) { out.write(in.read()); }

extern "C" {

void load(const int* in, int count, hls::stream<placed>& out) {
#pragma HLS interface m_axi port = in
  for (int i = 0; i < count; ++i) out.write(placed{i, in[i]});
}

void workers(hls::stream<placed>& in, hls::stream<placed>& out) {
#pragma HLS interface ap_ctrl_none port = return
  hls_thread_local hls::split::load_balance<placed, 2> split;
  hls_thread_local hls::merge::load_balance<placed, 2> merge;
  hls_thread_local hls::task feed(pass, in, split.in);
  hls_thread_local hls::task left(work, split.out[0], merge.in[0], 11);
#ifdef TANDEM_BROKEN
  hls_thread_local hls::task right(work, split.out[1], merge.in[1], 0);
#else
  hls_thread_local hls::task right(work, split.out[1], merge.in[1], 11);
#endif
  hls_thread_local hls::task drain(pass, merge.out, out);
}

void store(int* out, int count, hls::stream<placed>& in) {
#pragma HLS interface m_axi port = out
  for (int i = 0; i < count; ++i) {
    const placed next = in.read();
    out[next.place] = next.value;
  }
}
}
