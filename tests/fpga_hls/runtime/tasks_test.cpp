// SPDX-License-Identifier: Apache-2.0
//
// Tasks, N-port channels and streams of blocks inside a unit. hls_task_test.cpp has the same in a
// plain program.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "hls_streamofblocks.h"
#include "hls_task.h"
#include "unit.h"

namespace tandem::hls_runtime_test {
namespace {

void twice(hls::stream<int>& in, hls::stream<int>& out) { out.write(2 * in.read()); }

TEST(Task, LivesFromTheFirstCallOn) {
  Unit unit;
  int sum = 0;
  const auto kernel = [&] {
    hls_thread_local hls::stream<int> in("in"), out("out");
    hls_thread_local hls::task task(twice, in, out);
    for (int i = 0; i < 100; ++i) in.write(i);
    for (int i = 0; i < 100; ++i) sum += out.read();
  };
  EXPECT_EQ(unit.run(kernel, 3).end, End::kDone);
  EXPECT_EQ(sum, 3 * 9900);
}

// The task has room for two results until the second process reads them.
TEST(Task, HasStreamsOfTheDefaultDepthWhileDepthsAreKept) {
  Unit unit("unit_1", nullptr, false, 1 << 24, true);
  int room = 0;
  const auto kernel = [&] {
    hls_thread_local hls::stream<int> in("in"), out("out");
    hls_thread_local hls::task task(twice, in, out);
    Region region;
    region.start("write", [&] {
      for (int i = 0; i < 10; ++i) in.write(i);
    });
    region.start("read", [&] {
      for (int i = 0; i < 10; ++i) EXPECT_EQ(out.read(), 2 * i);
      room = static_cast<int>(out.capacity());
    });
    region.join();
  };
  EXPECT_EQ(unit.run(kernel).end, End::kDone);
  EXPECT_EQ(room, 2);
  EXPECT_TRUE(unit.scheduler().findings().depths.empty());
}

TEST(Task, SharesWorkThroughChannels) {
  Unit unit;
  std::vector<int> values;
  const auto kernel = [&] {
    hls_thread_local hls::split::load_balance<int, 4> split;
    hls_thread_local hls::merge::load_balance<int, 4> merge;
    hls_thread_local hls::task workers[4];
    static thread_local const bool started = [] {
      for (int i = 0; i < 4; ++i) workers[i](twice, split.out[i], merge.in[i]);
      return true;
    }();
    (void)started;
    Region region;
    region.start("write", [&] {
      for (int i = 0; i < 1000; ++i) split.in.write(i);
    });
    region.start("read", [&] {
      for (int i = 0; i < 1000; ++i) values.push_back(merge.out.read());
    });
    region.join();
  };
  EXPECT_EQ(unit.run(kernel, 2).end, End::kDone);
  ASSERT_EQ(values.size(), 2000u);
  std::sort(values.begin(), values.end());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(values[static_cast<size_t>(2 * i)], 2 * i);
}

TEST(Task, TakesTurnsInARoundRobin) {
  Unit unit;
  std::vector<int> values;
  const auto kernel = [&] {
    hls_thread_local hls::split::round_robin<int, 3> split;
    hls_thread_local hls::merge::round_robin<int, 3> merge;
    hls_thread_local hls::task first(twice, split.out[0], merge.in[0]);
    hls_thread_local hls::task second(twice, split.out[1], merge.in[1]);
    hls_thread_local hls::task third(twice, split.out[2], merge.in[2]);
    for (int i = 0; i < 99; ++i) split.in.write(i);
    for (int i = 0; i < 99; ++i) values.push_back(merge.out.read());
  };
  EXPECT_EQ(unit.run(kernel).end, End::kDone);
  for (int i = 0; i < 99; ++i) EXPECT_EQ(values[static_cast<size_t>(i)], 2 * i);
}

TEST(Task, ThatEndsNoStreamIsHeldBack) {
  Unit unit;
  int sum = 0;
  const Outcome outcome = unit.run([&] {
    hls::stream<int> endless("endless");
    int next = 0;
    hls::task source([&next](hls::stream<int>& out) { out.write(next++); }, endless);
    for (int i = 0; i < 5000; ++i) sum += endless.read();
    EXPECT_LE(endless.size(), 2000u);
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(sum, 12497500);
}

TEST(Task, RunsOutWhenTheKernelHasReturned) {
  Unit unit;
  int seen = 0;
  const auto kernel = [&] {
    hls_thread_local hls::stream<int> in("in");
    hls_thread_local hls::task task([&seen](hls::stream<int>& from) { seen += from.read(); }, in);
    for (int i = 0; i < 10; ++i) in.write(1);
  };
  EXPECT_EQ(unit.run(kernel, 2).end, End::kDone);
  EXPECT_EQ(seen, 20);
}

TEST(Task, IsNamedInADeadlock) {
  Unit unit;
  const Outcome outcome = unit.run([] {
    hls::stream<int> in("in"), out("out");
    hls::task task(twice, in, out);
    (void)out.read();
  });
  EXPECT_EQ(outcome.end, End::kDeadlock);
  EXPECT_NE(outcome.message.find("process 'task' waits for data in stream 'in'"), std::string::npos)
      << outcome.message;
  EXPECT_NE(outcome.message.find("waits for data in stream 'out'"), std::string::npos);
}

typedef int Block[64];

TEST(StreamOfBlocks, CarriesBlocksFilledInAnyOrder) {
  Unit unit;
  long sum = 0;
  const Outcome outcome = unit.run([&] {
    Region region;
    hls::stream_of_blocks<Block> blocks("blocks");
    region.start("write", [&] {
      for (int block = 0; block < 50; ++block) {
        hls::write_lock<Block> lock(blocks);
        for (int i = 63; i >= 0; --i) lock[i] = block + i;
      }
    });
    region.start("read", [&] {
      for (int block = 0; block < 50; ++block) {
        hls::read_lock<Block> lock(blocks);
        const Block& values = lock;
        for (int i = 0; i < 64; ++i) sum += values[i] + values[63 - i];
      }
    });
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(sum, 2 * (50 * 2016 + 64 * 1225));
}

TEST(StreamOfBlocks, MakesAReaderWait) {
  Unit unit;
  std::vector<int> order;
  const Outcome outcome = unit.run([&] {
    Region region;
    hls::stream_of_blocks<Block, 3> blocks;
    region.start("read", [&] {
      hls::read_lock<Block> lock(blocks);
      order.push_back(lock[5]);
    });
    region.start("write", [&] {
      EXPECT_TRUE(blocks.empty());
      hls::write_lock<Block> lock(blocks);
      lock[5] = 17;
      order.push_back(1);
    });
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  EXPECT_EQ(order, (std::vector<int>{1, 17}));
}

}  // namespace
}  // namespace tandem::hls_runtime_test
