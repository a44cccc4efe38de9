// SPDX-License-Identifier: Apache-2.0
//
// An arbiter that polls two inputs (empty, read_nb) and offers its output (full, write_nb) until it
// has seen all values; each value carries its place. Broken: values keep the wrong places.
#include <hls_stream.h>

struct placed {
  int place;
  int value;
};

static void load(const int* in, hls::stream<placed>& values, int count, int first) {
  for (int i = first; i < count; i += 2) values.write(placed{i, in[i]});
}

static void arbitrate(hls::stream<placed>& even, hls::stream<placed>& odd,
                      hls::stream<placed>& merged, int count) {
  placed next;
  bool have = false;
  for (int done = 0; done < count;) {
    if (!have && !even.empty()) have = even.read_nb(next);
    if (!have) have = odd.read_nb(next);
    if (!have || merged.full()) continue;
    if (merged.write_nb(next)) {
      have = false;
      ++done;
    }
  }
}

static void store(hls::stream<placed>& merged, int* out, int count) {
  for (int i = 0; i < count; ++i) {
    const placed next = merged.read();
#ifdef TANDEM_BROKEN
    out[i] = 2 * next.value + next.place % 2;
#else
    out[next.place] = 2 * next.value;
#endif
  }
}

extern "C" void arbiter(const int* in, int* out, int count) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS dataflow
  hls::stream<placed> even, odd, merged;
#pragma HLS stream variable = even depth = 4
#pragma HLS stream variable = odd depth = 4
#pragma HLS stream variable = merged depth = 2
  arbitrate(even, odd, merged, count);
  load(in, even, count, 0);
  load(in, odd, count, 1);
  store(merged, out, count);
}
