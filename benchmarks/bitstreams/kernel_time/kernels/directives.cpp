// SPDX-License-Identifier: Apache-2.0
//
// Kernels of sixteen integers, each with one directive. Arguments are memories of one cycle.
// TANDEM_KERNEL: which one. TANDEM_PRAGMA: the directive of its loop.
#include <hls_stream.h>

#ifndef TANDEM_KERNEL
#define TANDEM_KERNEL 1
#endif
#ifndef TANDEM_PRAGMA
#define TANDEM_PRAGMA HLS pipeline off
#endif
#define AS_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define EXPANDED(...) AS_PRAGMA(__VA_ARGS__)

static const int kCount = 16;

#if TANDEM_KERNEL == 1  // sums of two arrays
extern "C" void top(const int* a, const int* b, int* y) {
  for (int at = 0; at < kCount; ++at) {
    EXPANDED(TANDEM_PRAGMA)
    y[at] = a[at] + b[at];
  }
}
#elif TANDEM_KERNEL == 2  // copies of the body, in order
extern "C" void top(const int* a, const int* b, int* y) {
#ifdef TANDEM_BANKS
#pragma HLS array_partition variable = a cyclic factor = 4
#pragma HLS array_partition variable = b cyclic factor = 4
#pragma HLS array_partition variable = y cyclic factor = 4
#endif
  for (int at = 0; at < kCount; ++at) {
#pragma HLS pipeline off
    EXPANDED(TANDEM_PRAGMA)
    y[at] = a[at] + b[at];
  }
}
#elif TANDEM_KERNEL == 3  // two loops, one after the other
extern "C" void top(const int* a, const int* b, int* y) {
  int between[kCount];
  for (int at = 0; at < kCount; ++at) {
#pragma HLS pipeline off
    between[at] = a[at] + b[at];
  }
  for (int at = 0; at < kCount; ++at) {
#pragma HLS pipeline off
    y[at] = between[at] - 3;
  }
}
#elif TANDEM_KERNEL == 4  // a nest
extern "C" void top(const int* a, const int* b, int* y) {
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column) {
#pragma HLS pipeline off
      y[row * 8 + column] = a[row * 8 + column] + b[row * 8 + column];
    }
  }
}
#elif TANDEM_KERNEL == 5  // a histogram
extern "C" void top(const int* x, int* bins, int*) {
  int counts[kCount];
  for (int bin = 0; bin < kCount; ++bin) {
#pragma HLS pipeline off
    counts[bin] = bins[bin];
  }
  for (int at = 0; at < kCount; ++at) {
#pragma HLS pipeline
    EXPANDED(TANDEM_PRAGMA)
    counts[x[at] & 15] += 1;
  }
  for (int bin = 0; bin < kCount; ++bin) {
#pragma HLS pipeline off
    bins[bin] = counts[bin];
  }
}
#elif TANDEM_KERNEL == 6  // four neighbours
extern "C" void top(const int* x, int* y, int*) {
#ifdef TANDEM_BANKS
#pragma HLS array_partition variable = x cyclic factor = 4
#endif
  for (int at = 0; at < kCount / 4; ++at) {
#pragma HLS pipeline off
    y[at] = x[4 * at] + x[4 * at + 1] + x[4 * at + 2] + x[4 * at + 3];
  }
}
#elif TANDEM_KERNEL == 8  // a producer and a consumer; TANDEM_BY: what the consumer does
static void scale(const int* a, hls::stream<int>& to) {
  for (int at = 0; at < kCount; ++at) {
#pragma HLS pipeline off
    to.write(a[at] * 3);
  }
}
static void combine(hls::stream<int>& from, const int* b, int* y) {
  for (int at = 0; at < kCount; ++at) {
#pragma HLS pipeline off
    y[at] = from.read() TANDEM_BY b[at];
  }
}
extern "C" void top(const int* a, const int* b, int* y) {
#pragma HLS dataflow
  hls::stream<int> between("between");
#pragma HLS stream variable = between depth = 16
  scale(a, between);
  combine(between, b, y);
}
#elif TANDEM_KERNEL == 9  // the same with a buffer that changes hands
static void fill(const int* a, int* to) {
  for (int at = 0; at < kCount; ++at) {
#pragma HLS pipeline off
    to[at] = a[at] * 3;
  }
}
static void use(const int* from, const int* b, int* y) {
  for (int at = 0; at < kCount; ++at) {
#pragma HLS pipeline off
    y[at] = from[at] * b[at];
  }
}
extern "C" void top(const int* a, const int* b, int* y) {
#pragma HLS dataflow
  int between[kCount];
  fill(a, between);
  use(between, b, y);
}
#else  // two calls per element
static int sum(int a, int b) {
#pragma HLS inline
  return a + b;
}
extern "C" void top(const int* a, const int* b, int* y) {
  for (int at = 0; at < kCount; ++at) {
#pragma HLS pipeline off
    y[at] = sum(sum(a[at], b[at]), a[at]);
  }
}
#endif

extern "C" void call(char* const*) {
  static int a[64], b[64], y[64];
  top(a, b, y);
}
