// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose dataflow regions have every shape that the rewriter must recognise.
// rewritten_test.cpp preprocesses, rewrites, compiles and calls them. Each returns the results of
// its regions through `out`.
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
template <typename Tag>
void tagged(hls::stream<int>& in, hls::stream<int>& out, int count) {
  add<1>(in, out, count);
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

void receive(hls::stream<int>& in, int* buffer, int& count) {
  count = in.read();
  for (int i = 0; i < count; ++i) buffer[i] = in.read();
}
void store(const int* buffer, int count, int* out) {
  for (int i = 0; i < count; ++i) *out += buffer[i];
}
void copy(const int* from, int count, int* to) {
  for (int i = 0; i < count; ++i) to[i] = from[i];
}
void forward(hls::stream<int>& in, hls::stream<int>& out, int count) {
  for (int i = 0; i < count; ++i) out.write(in.read());
}
void collect(hls::stream<int>& in, int (&buffer)[64], int count) {
  for (int i = 0; i < count; ++i) buffer[i] = in.read();
}
template <typename T>
void scale(T* buffer, T by) {
  for (int i = 0; i < 4; ++i) buffer[i] *= by;
}
// Sends a value and wants it back, one at a time: each reads the table.
void ask(int* table, hls::stream<int>& out, hls::stream<int>& in, int* sum) {
  for (int i = 0; i < 4; ++i) {
    out.write(table[i]);
    *sum += in.read();
  }
}
void answer(int* table, hls::stream<int>& in, hls::stream<int>& out) {
  for (int i = 0; i < 4; ++i) out.write(in.read() + table[0]);
}
void poll(hls::stream<int>& in, int* table, int* sum) {
  for (int left = 4, value = 0; left != 0;) {
    if (!in.read_nb(value)) continue;
    *sum += value * table[0];
    --left;
  }
}
void give(int* table, hls::stream<int>& out) {
  for (int i = 0; i < 4; ++i) out.write(table[i]);
}
struct Limits {
  static const int kCount = 3;  // has no definition
};

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

template <int kSteps>
void inlined_chain(hls::stream<int> (&stages)[kSteps + 1], int count) {
#pragma HLS inline
  for (int i = 0; i < kSteps; ++i) {
#pragma HLS unroll
    add<1>(stages[i], stages[i + 1], count);
  }
}

// The sum must be complete before it is sent.
void send_sum(hls::stream<int>& in, hls::stream<int>& out, int count) {
#pragma HLS inline
  int total = 0;
  sum(in, count, &total);
  out.write(total);
}

}  // namespace

extern "C" {

void inlined_in_order(int* out) {
  hls::stream<int> numbers, totals;
#pragma HLS dataflow
  sum(totals, 1, out);
  send_sum(numbers, totals, 10);
  produce(numbers, 10);
}

// All of them must run at once, because a stream holds two values.
void inlined(int* out) {
  hls::stream<int> stages[4];
#pragma HLS dataflow
  produce(stages[0], 100);
  inlined_chain<3>(stages, 100);
  sum(stages[3], 100, out);
}

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
  for (int i = 0; i < 30; ++i) {
    const int value = forth.read();
    if (i < 29)
      back.write(value);
    else
      *out += value;
  }
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

// What another kernel sends late: 3, then three values.
void late_scalar(hls::stream<int>& in, int* out) {
#pragma HLS dataflow
  int buffer[64], count;
  receive(in, buffer, count);
  store(buffer, count, out);
}

void late_chain(hls::stream<int>& in, int* out) {
#pragma HLS dataflow
  hls::stream<int> s;
  int buffer[64];
  forward(in, s, 4);
  collect(s, buffer, 4);
  store(buffer, 4, out);
}

void late_global(hls::stream<int>& in, int* out) {
#pragma HLS dataflow
  int count;
  static int memory[64], *pointer = memory;
  receive(in, pointer, count);
  scale(pointer + 0, 2);
  scale<int>(&memory[0], 5);
  store(memory, Limits::kCount, out);
}

void late_loop(hls::stream<int>& in, int* out) {
#pragma HLS dataflow
  for (int pass = 0; pass < 2; ++pass) {
    hls::stream<int> s;
    int buffer[64];
    forward(in, s, 2);
    collect(s, buffer, 2);
    store(buffer, 2, out);
  }
}

void late_words(hls::stream<int>& in, int* out) {
#pragma HLS dataflow
  int buffer[64] = {}, copied[64] = {};
  for (int i = 0; i < 4; ++i) buffer[i] = in.read();
  for (int i = 0; i < 4; ++i) copied[i] = buffer[i];
  store(copied, 4, out);
}

void late_block(hls::stream<int>& in, int* out) {
#pragma HLS dataflow
  {
    hls::stream<int> s;
    forward(in, s, 4);
    sum(s, 4, out);
  }
  if (out != nullptr) {
    int seen[4] = {*out, 1, 2, 3};
    store(seen, 4, out);
  }
}

void late_rows(hls::stream<int>& in, int* out) {
#pragma HLS dataflow
  int buffer[64], count, rows[3][64];
  receive(in, buffer, count);
  for (int i = 0; i < 3; ++i) {
#pragma HLS unroll
    copy(buffer, count - i, rows[i]);
  }
  for (int i = 0; i < 3; ++i) {
#pragma HLS unroll
    store(rows[i], count - i, out);
  }
}

void shared_table(int* out) {
#pragma HLS dataflow
  static hls::stream<int> forth("forth"), back("back");
  int table[4] = {1, 2, 3, 4};
  ask(table, forth, back, out);
  answer(table, forth, back);
}

void shared_table_and_polls(int* out) {
#pragma HLS dataflow
  static hls::stream<int> s("s");
  int table[4] = {1, 2, 3, 4};
  poll(s, table, out);
  give(table, s);
}

// Half of a feedback through another kernel, which adds 1.
void shared_over_links(hls::stream<int>& in, hls::stream<int>& out, int* sum) {
#pragma HLS dataflow
  static hls::stream<int> s("s");
  int table[4] = {1, 2, 3, 4};
  ask(table, s, in, sum);
  scale(table, 1);
  forward(s, out, 4);
}

constexpr int kDeep = 3;
void deep(int* out) {
#pragma HLS dataflow
  hls::stream<int> a, b;
#pragma HLS stream variable = a depth = kDeep
#pragma HLS stream variable = b depth = STAGES
  *out += static_cast<int>(a.tandem_channel().depth + 10 * b.tandem_channel().depth);
  produce(a, 2);
  sum(a, 2, out);
}

constexpr int blocks(int values, int size) { return (values + size - 1) / size; }
void deep_by_a_call(int* out) {
#pragma HLS dataflow
  hls::stream<int> a;
#pragma HLS stream variable = a depth = (4 * blocks(7, 2))
  *out += static_cast<int>(a.tandem_channel().depth);
  produce(a, 2);
  sum(a, 2, out);
}

// Each call is the first to name its class.
void new_tags(int* out) {
#pragma HLS dataflow
  hls::stream<int> a, b, c;
  produce(a, 4);
  tagged<class First>(a, b, 4);
  tagged<struct Second>(b, c, 4);
  sum(c, 4, out);
}
}
