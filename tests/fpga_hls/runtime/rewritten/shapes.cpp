// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose dataflow regions have every shape the rewriter has to see; rewritten_test.cpp
// preprocesses, rewrites, compiles and calls them. Each returns through `out` what its regions
// made.
#include "hls_stream.h"
#include "hls_task.h"

namespace {

template <typename T>
void produce(hls::stream<T>& out, int count, int first = 0) {
  for (int i = 0; i < count; ++i) out.write(static_cast<T>(first + i));
}
template <int kStep, typename T>
void add(hls::stream<T>& in, hls::stream<T>& out, int count) {
  for (int i = 0; i < count; ++i) out.write(in.read() + kStep);
}
template <typename T>
void sum(hls::stream<T>& in, int count, int* out) {
  for (int i = 0; i < count; ++i) *out += static_cast<int>(in.read());
}
void measure(hls::stream<int>& in, hls::stream<int>& out, int count, int& largest) {
  for (int i = 0; i < count; ++i) {
    const int value = in.read();
    if (value > largest) largest = value;
    out.write(value);
  }
}

#define STAGES 5

struct Filter {
  int scale;
  void apply(hls::stream<int>& in, hls::stream<int>& out, int count) const {
    for (int i = 0; i < count; ++i) out.write(scale * in.read());
  }
  void run(int* result) const {
#pragma HLS dataflow
    hls::stream<int> a, b;
    produce(a, 10);
    apply(a, b, 10);
    sum(b, 10, result);
  }
};

}  // namespace

extern "C" {

// The consumer stands in front of its producers.
void backwards(int* out) {
#pragma HLS dataflow
  hls::stream<int, 2> a("a"), b("b");
  sum(b, 100, out);
  add<1>(a, b, 100);
  produce(a, 100);
}

void chain_in_a_loop(int* out) {
#pragma HLS DATAFLOW disable_start_propagation
  hls::stream<int> stage[STAGES + 1];
#pragma HLS stream variable = stage depth = 3
  sum(stage[STAGES], 50, out);
  for (int i = 0; i < STAGES; ++i) {
#pragma HLS unroll
    add<2>(stage[i], stage[i + 1], 50);
  }
  if (STAGES > 3)
    produce(stage[0], 50);
  else
    produce(stage[0], 51);
}

void region_in_a_loop(int* out) {
  for (int pass = 0; pass < 20; ++pass) {
#pragma HLS dataflow
    hls::stream<int, 4> a;
    produce(a, 10, pass);
    if (pass == 13) continue;
    sum(a, 10, out);
  }
}

void scalars(int* out) {
#pragma HLS dataflow
  hls::stream<int> a, b;
  int largest = 0, count = 40;
  produce(a, count);
  measure(a, b, count, largest);
  sum(b, largest + 1, out);
}

void early_return(int* out) {
#pragma HLS dataflow
  hls::stream<int, 2> a;
  sum(a, 7, out);
  produce(a, 7);
  if (out != nullptr) return;
  sum(a, 1, out);
}

void feedback(int* out) {
#pragma HLS dataflow
  static hls::stream<int> forth, back;
  back.write(0);
  add<3>(back, forth, 30);
  for (int i = 0; i < 29; ++i) back.write(forth.read());
  sum(forth, 1, out);
}

void method(int* out) {
  const Filter filter{3};
  filter.run(out);
}

void in_a_lambda(int* out) {
  const auto region = [out](int count) {
#pragma HLS dataflow
    hls::stream<unsigned char, 2> a;
    sum<unsigned char>(a, count, out);
    produce<unsigned char>(a, count);
  };
  region(5);
  region(6);
}

void with_tasks(int* out) {
#pragma HLS dataflow
  hls_thread_local hls::stream<int> a, b;
  hls_thread_local hls::task adder(add<1, int>, a, b, 1);
  produce(a, 12);
  sum(b, 12, out);
}
}
