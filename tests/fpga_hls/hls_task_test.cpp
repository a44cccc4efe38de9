// SPDX-License-Identifier: Apache-2.0
//
// Tasks, N-port channels and streams of blocks in a plain C++ program, where a task is a thread.
#include "hls_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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

typedef int Block[8];

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
