// SPDX-License-Identifier: Apache-2.0
//
// Tasks, N-port channels, direct I/O and streams of blocks in a plain C++ program, where tasks are
// threads that take turns.
#include "hls_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include "hls_directio.h"
#include "hls_streamofblocks.h"

namespace tandem {
namespace {

void twice(hls::stream<int>& in, hls::stream<int>& out) { out.write(2 * in.read()); }

TEST(PlainTask, IsAThreadThatEndsWithItsObject) {
  hls::stream<int> in("in"), out("out");
  {
    hls::task task(twice, in, out);
    for (int i = 0; i < 100; ++i) in.write(i);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(out.read(), 2 * i);
  }
  in.write(1);
  EXPECT_TRUE(out.empty());
}

TEST(PlainTask, SharesWorkThroughChannels) {
  hls::split::load_balance<int, 3> split;
  hls::merge::load_balance<int, 3> merge;
  hls::task workers[3];
  for (int i = 0; i < 3; ++i) workers[i](twice, split.out[i], merge.in[i]);
  std::vector<int> values;
  for (int i = 0; i < 30; ++i) {
    split.in.write(i);
    values.push_back(merge.out.read());
  }
  std::sort(values.begin(), values.end());
  for (int i = 0; i < 30; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], 2 * i);
}

TEST(PlainTask, TakesTurnsInARoundRobin) {
  hls::split::round_robin<int, 2> split("split");
  hls::merge::round_robin<int, 2> merge("merge");
  hls::task left(twice, split.out[0], merge.in[0]), right(twice, split.out[1], merge.in[1]);
  for (int i = 0; i < 20; ++i) {
    split.in.write(i);
    EXPECT_EQ(merge.out.read(), 2 * i);
  }
}

void sort_out(hls::stream<int>& in, hls::stream<int>& even, hls::stream<int>& odd) {
  const int value = in.read();
  (value % 2 == 0 ? even : odd).write(value);
}

// As the top function of a design: its tasks live as long as the thread that called it.
void even_and_odd(hls::stream<int>& in, hls::stream<int>& even, hls::stream<int>& odd) {
  hls_thread_local hls::stream<int, 2> evens("evens"), odds("odds");
  hls_thread_local hls::task sorter(sort_out, in, evens, odds);
  hls_thread_local hls::task left(twice, evens, even), right(twice, odds, odd);
}

TEST(PlainTask, OutlivesTheStreamsOfATestBench) {
  for (int round = 0; round < 20; ++round) {
    std::thread([] {
      hls::stream<int, 10> in;
      hls::stream<int, 5> even, odd;
      for (int i = 0; i < 40; ++i) in.write(i);
      even_and_odd(in, even, odd);
      for (int i = 0; i < 15; ++i) EXPECT_EQ(even.read(), 4 * i);
      for (int i = 0; i < 10; ++i) EXPECT_EQ(odd.read(), 4 * i + 2);
      for (int i = 0; i < 3; ++i) in.write(i);
    }).join();
  }
}

// Neither output is read while the other one fills up.
TEST(PlainTask, FullStreamsGrowWhenNothingElseCanGoOn) {
  hls::stream<int> in;
  hls::stream<int, 2> even, odd;
  hls::task sorter(sort_out, in, even, odd);
  for (int i = 0; i < 20000; ++i) in.write(i);
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(odd.read(), 2 * i + 1);
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(even.read(), 2 * i);
}

TEST(PlainTask, RunsWhileOthersLook) {
  hls::stream<int> in, between, out;
  // The last one first, so that what is looked for needs several rounds.
  hls::task last(twice, between, out), first(twice, in, between);
  for (int i = 0; i < 10; ++i) in.write(i);
  int seen = 0;
  while (!out.empty()) EXPECT_EQ(out.read(), 4 * seen++);
  EXPECT_EQ(seen, 10);
  in.write(7);
  while (out.size() == 0) std::this_thread::yield();
  EXPECT_EQ(out.read(), 28);
}

TEST(PlainTask, MayLookAtItsStreamsItself) {
  hls::stream<int> left, right, out;
  hls::task merger([&] {
    int value = 0;
    if (left.read_nb(value) || right.read_nb(value)) out.write(value);
  });
  for (int i = 0; i < 100; ++i) {
    (i % 3 == 0 ? left : right).write(i);
    EXPECT_EQ(out.read(), i);
  }
}

TEST(PlainTask, KeepsAFunctionsOwnTasksApart) {
  const auto own = [](hls::stream<int>& in, hls::stream<int>& out) {
    hls_thread_local hls::stream<int> to, from;
    hls_thread_local hls::task inner(twice, to, from);
    to.write(in.read());
    out.write(from.read() + 1);
  };
  hls::stream<int> a, b, c, d;
  hls::task left(own, a, b), right(own, c, d);
  for (int i = 0; i < 20; ++i) {
    a.write(i);
    c.write(100 * i);
    EXPECT_EQ(b.read(), 2 * i + 1);
    EXPECT_EQ(d.read(), 200 * i + 1);
  }
}

TEST(PlainTask, MayServeAnyThread) {
  hls::stream<int> in, out;
  hls::task task(twice, in, out);
  std::thread reader([&] {
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(out.read(), 2 * i);
  });
  for (int i = 0; i < 2000; ++i) in.write(i);
  reader.join();
}

TEST(PlainTask, ThrowsWhereItsTurnWasGiven) {
  hls::stream<int> in, out;
  hls::task task([&] {
    const int value = in.read();
    if (value < 0) throw std::out_of_range("negative");
    out.write(value);
  });
  in.write(1);
  EXPECT_EQ(out.read(), 1);
  in.write(-1);
  EXPECT_THROW(out.read(), std::out_of_range);
  EXPECT_THROW(hls::task([] { throw std::logic_error("at once"); }), std::logic_error);
}

TEST(PlainTask, DoesNotServeWhatNobodyWrote) {
  const int before = hls::stream_patience_ms().exchange(20);
  hls::stream<int> in, out("answers");
  hls::task task(twice, in, out);
  EXPECT_THROW(out.read(), hls::stream_stuck);
  in.write(3);
  EXPECT_EQ(out.read(), 6);
  hls::stream_patience_ms() = before;
}

// A region's calls in order: each consumer takes what it needs before the next one begins.
TEST(PlainChannels, ServeStagesCalledInOrder) {
  hls::split::load_balance<int, 4, 6> split;
  hls::merge::load_balance<int, 4, 20> merge;
  hls::merge::round_robin<int, 4> turns;
  for (int i = 0; i < 16; ++i) split.in.write(i);
  for (int port = 0; port < 4; ++port) {
    for (int i = 0; i < 4; ++i) merge.in[port].write(split.out[port].read());
  }
  std::vector<int> values;
  for (int i = 0; i < 16; ++i) values.push_back(merge.out.read());
  std::sort(values.begin(), values.end());
  for (int i = 0; i < 16; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], i);
  for (int i = 0; i < 400; ++i) turns.in[i / 100].write(i);
  for (int i = 0; i < 400; ++i) EXPECT_EQ(turns.out.read(), i % 4 * 100 + i / 4);
}

TEST(PlainDirectIo, FeedsTasks) {
  hls::ap_none<int> left, right, sum, bias;
  hls::ap_hs<int> scale, scaled;
  hls::task adder([&] { sum.write(left.read() + right.read() + bias.read()); });
  hls::task scaler([&] { scaled.write(2 * scale.read()); });
  bias.write(100);
  for (int i = 1; i < 50; ++i) {
    left.write(i);
    right.write(10 * i);
    scale.write(i);
  }
  // The wires were sampled before anything was on them.
  int last = 0;
  for (int i = 0; i < 5000 && last != 639; ++i) last = sum.read();
  EXPECT_EQ(last, 639);
  for (int i = 1; i < 50; ++i) EXPECT_EQ(scaled.read(), 2 * i);
  EXPECT_FALSE(scaled.valid());
  EXPECT_TRUE(scale.ready());
}

typedef int Block[8];

TEST(PlainStreamOfBlocks, GoesAheadWhereTheReaderComesLater) {
  hls::stream_of_blocks<Block> blocks;
  for (int block = 0; block < 10; ++block) {
    hls::write_lock<Block> lock(blocks);
    lock[3] = block;
  }
  for (int block = 0; block < 10; ++block) {
    hls::read_lock<Block> lock(blocks);
    EXPECT_EQ(lock[3], block);
  }
}

TEST(PlainStreamOfBlocks, KeepsItsDepth) {
  hls::stream_of_blocks<Block, 2> blocks("blocks");
  EXPECT_TRUE(blocks.empty());
  for (int block = 0; block < 2; ++block) {
    hls::write_lock<Block> lock(blocks);
    for (int i = 0; i < 8; ++i) lock[i] = 10 * block + i;
  }
  EXPECT_TRUE(blocks.full());
  for (int block = 0; block < 2; ++block) {
    hls::read_lock<Block> lock(blocks);
    Block& values = lock;
    EXPECT_EQ(values[7], 10 * block + 7);
  }
  EXPECT_TRUE(blocks.empty());
}

}  // namespace
}  // namespace tandem
