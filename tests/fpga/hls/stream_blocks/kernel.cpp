// SPDX-License-Identifier: Apache-2.0
//
// Blocks of 100 values, written from the end to the start and read from the start. Broken: read as
// they were written.
#include <hls_streamofblocks.h>

constexpr int kBlock = 100;
typedef int block[kBlock];

static void load(const int* in, hls::stream_of_blocks<block>& blocks, int count) {
  for (int base = 0; base < count; base += kBlock) {
    hls::write_lock<block> lock(blocks);
    for (int i = kBlock - 1; i >= 0; --i) lock[i] = in[base + i];
  }
}

static void store(hls::stream_of_blocks<block>& blocks, int* out, int count) {
  for (int base = 0; base < count; base += kBlock) {
    hls::read_lock<block> lock(blocks);
#ifdef TANDEM_BROKEN
    for (int i = 0; i < kBlock; ++i) out[base + i] = 3 * lock[kBlock - 1 - i] - 2;
#else
    for (int i = 0; i < kBlock; ++i) out[base + i] = 3 * lock[i] - 2;
#endif
  }
}

extern "C" void in_blocks(const int* in, int* out, int count) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#pragma HLS dataflow
  hls::stream_of_blocks<block> blocks;
  store(blocks, out, count);
  load(in, blocks, count);
}
