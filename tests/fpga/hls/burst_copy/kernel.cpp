// SPDX-License-Identifier: Apache-2.0
//
// Copies blocks in an order read from memory, by bursts that the kernel requests itself, four
// requests ahead. Broken: a block's last value is missing; the hardware would wait for it for ever.
#include <ap_int.h>
#include <hls_burst_maxi.h>

constexpr int kBlock = 32, kAhead = 4;
typedef ap_uint<64> Value;

void copy_block(hls::burst_maxi<Value> in, hls::burst_maxi<Value> out) {
#ifdef TANDEM_BROKEN
  constexpr int kCount = kBlock - 1;
#else
  constexpr int kCount = kBlock;
#endif
  for (int i = 0; i < kCount; ++i) {
#pragma HLS pipeline II = 1
    out.write(in.read() + 1);
  }
}

extern "C" void gather(hls::burst_maxi<Value> in, const int* order, hls::burst_maxi<Value> out,
                       int blocks) {
#pragma HLS interface m_axi port = in bundle = gmem0 num_read_outstanding = 8
#pragma HLS interface m_axi port = order bundle = gmem1
#pragma HLS interface m_axi port = out bundle = gmem2
  for (int first = 0; first < blocks; first += kAhead) {
    for (int i = first; i < first + kAhead && i < blocks; ++i) {
      in.read_request(order[i] * kBlock, kBlock);
      out.write_request(i * kBlock, kBlock);
    }
    for (int i = first; i < first + kAhead && i < blocks; ++i) copy_block(in, out);
    for (int i = first; i < first + kAhead && i < blocks; ++i) out.write_response();
  }
}
