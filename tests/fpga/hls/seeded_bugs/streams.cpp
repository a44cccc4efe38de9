// SPDX-License-Identifier: Apache-2.0
//
// Seeded bugs of streams; see bugs.h. The mark is at the line that a finding names: of the wait for
// a deadlock or a read after the end, of the stream for values that are left.
#include <hls_stream.h>

#include "bugs.h"

namespace {

constexpr int kWords = 64;
using Words = hls::stream<int>;

// Two processes that ask each other before they answer.
void ask_first(const int* in, Words& to, Words& from, bool bad) {
  int first = 0;
  if (bad) first = from.read();  // bug both_read_first
  to.write(in[0] + first);
  if (!bad) first = from.read();
}
void answer(Words& to, Words& from, int* out) {
  const int asked = to.read();
  out[0] = asked;
  from.write(asked + 1);
}
void both_read_first(const int* in, int* out, int*, int, bool bad) {
#pragma HLS dataflow
  Words to("to"), from("from");
  ask_first(in, to, from, bad);
  answer(to, from, out);
}

// All of the head is written before the tail, and the reader takes turns.
void split(const int* in, Words& head, Words& tail, bool bad) {
  for (int i = 0; i < kWords; ++i) {
    head.write(in[i]);  // bug head_before_tail
    if (!bad) tail.write(in[i]);
  }
  for (int i = 0; i < kWords && bad; ++i) tail.write(in[i]);
}
void add(Words& head, Words& tail, int* out) {
  for (int i = 0; i < kWords; ++i) {
    const int first = head.read();
    out[i] = first + tail.read();
  }
}
void head_before_tail(const int* in, int* out, int*, int, bool bad) {
#pragma HLS dataflow
  Words head("head"), tail("tail");
#pragma HLS stream variable = head depth = 8
#pragma HLS stream variable = tail depth = 8
  split(in, head, tail, bad);
  add(head, tail, out);
}

// Three processes in a ring without a first value.
void step(Words& from, Words& to) {
  to.write(from.read() + 1);  // bug three_in_a_ring
}
void close_ring(const int* in, Words& from, Words& to, int* out, bool bad) {
  if (!bad) to.write(in[0]);
  const int value = from.read();
  if (bad) to.write(value);
  out[0] = value;
}
void three_in_a_ring(const int* in, int* out, int*, int, bool bad) {
#pragma HLS dataflow
  Words first("first"), second("second"), third("third");
  step(first, second);
  step(second, third);
  close_ring(in, third, first, out, bad);
}

// A feedback path whose first value nobody writes.
void accumulate(const int* in, Words& back, Words& sums, bool bad) {
  for (int i = 0; i < kWords; ++i) {
    const int before = bad || i > 0 ? back.read() : 0;  // bug no_first_token
    sums.write(before + in[i]);
  }
}
void return_sums(Words& sums, Words& back, int* out) {
  for (int i = 0; i < kWords; ++i) {
    const int sum = sums.read();
    out[i] = sum;
    if (i + 1 < kWords) back.write(sum);
  }
}
void no_first_token(const int* in, int* out, int*, int, bool bad) {
#pragma HLS dataflow
  Words back("back"), sums("sums");
  accumulate(in, back, sums, bad);
  return_sums(sums, back, out);
}

void give(const int* in, Words& words, int count) {
  for (int i = 0; i < count; ++i) words.write(in[i % kWords]);
}
void take(Words& words, int* out, int count) {
  for (int i = 0; i < count; ++i) out[i % kWords] = words.read();  // bug one_read_too_many
}
void one_read_too_many(const int* in, int* out, int*, int count, bool bad) {
#pragma HLS dataflow
  Words words("words");
  give(in, words, count);
  take(words, out, bad ? count + 1 : count);
}

// The producer writes pairs, the consumer expects three values each.
void take_groups(Words& words, int* out, int count, int group) {
  for (int i = 0; i < count / 2; ++i) {
    int sum = 0;
    for (int k = 0; k < group; ++k) sum += words.read();  // bug consumer_counts_wrong
    out[i] = sum;
  }
}
void consumer_counts_wrong(const int* in, int* out, int*, int count, bool bad) {
#pragma HLS dataflow
  Words words("words");
  give(in, words, count);
  take_groups(words, out, count, bad ? 3 : 2);
}

void two_tokens_left(const int* in, int* out, int*, int count, bool bad) {
#pragma HLS dataflow
  Words words("words");  // bug two_tokens_left
  give(in, words, bad ? count + 2 : count);
  take(words, out, count);
}

// The consumer drops out at the first large value.
void take_small(Words& words, int* out, bool bad) {
  for (int i = 0; i < kWords; ++i) {
    const int word = words.read();
    if (bad && word > 40) return;
    out[i] = word;
  }
}
void filter_leaves(const int* in, int* out, int*, int count, bool bad) {
#pragma HLS dataflow
  Words words("words");  // bug filter_leaves
  give(in, words, count);
  take_small(words, out, bad);
}

// A slow side path: its stream must hold what the other path delays.
void fork_words(const int* in, Words& fast, Words& slow) {
  for (int i = 0; i < kWords; ++i) {
    fast.write(in[i]);  // bug side_path_is_shallow
    slow.write(in[i]);
  }
}
void delay(Words& slow, Words& late) {
  int sum = 0;
  for (int i = 0; i < kWords; ++i) sum += slow.read();
  for (int i = 0; i < kWords; ++i) late.write(sum);
}
void add_late(Words& fast, Words& late, int* out) {
  for (int i = 0; i < kWords; ++i) {
    const int sum = late.read();
    out[i] = fast.read() + sum;
  }
}
void side_path_is_shallow(const int* in, int* out, int*, int, bool bad) {
  if (bad) {
#pragma HLS dataflow
    Words fast("fast"), slow("slow"), late("late");
#pragma HLS stream variable = fast depth = 4
    fork_words(in, fast, slow);
    delay(slow, late);
    add_late(fast, late, out);
  } else {
#pragma HLS dataflow
    Words fast("fast"), slow("slow"), late("late");
#pragma HLS stream variable = fast depth = 64
    fork_words(in, fast, slow);
    delay(slow, late);
    add_late(fast, late, out);
  }
}

// The producer marks the last word; the consumer waits for a mark that never comes.
struct Beat {
  int data;
  bool last;
};
void send(const int* in, hls::stream<Beat>& beats, bool bad) {
  for (int i = 0; i < kWords; ++i) beats.write({in[i], !bad && i + 1 == kWords});
}
void receive(hls::stream<Beat>& beats, int* out) {
  Beat beat = {0, false};
  for (int i = 0; !beat.last; ++i) {
    beat = beats.read();  // bug last_is_missed
    out[i % kWords] = beat.data;
  }
}
void last_is_missed(const int* in, int* out, int*, int, bool bad) {
#pragma HLS dataflow
  hls::stream<Beat> beats("beats");
  send(in, beats, bad);
  receive(beats, out);
}

}  // namespace

extern "C" void stream_bugs(const int* in, int* out, int* scratch, int count, int bug) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS interface m_axi port = scratch bundle = gmem2
  RUN_BUG(TANDEM_STREAM_BUGS)
}
