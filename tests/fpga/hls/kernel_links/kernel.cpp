// SPDX-License-Identifier: Apache-2.0
//
// Three kernels joined by AXI streams with side channels: a packet's last word ends it, and its
// user field carries an addend. Broken: the addend is lost.
#include <ap_axi_sdata.h>
#include <ap_int.h>
#include <hls_stream.h>

typedef ap_axiu<32, 8, 0, 0> word;

extern "C" {

void send(const int* in, hls::stream<word>& out, int count, int packet) {
#pragma HLS interface m_axi port = in
#pragma HLS interface axis port = out
  for (int i = 0; i < count; ++i) {
    word next;
    next.data = in[i];
    next.user = i % 5;
    next.keep = -1;
    next.last = i % packet == packet - 1 || i == count - 1;
    out.write(next);
  }
}

// Passes every word on with its user field added. Each call handles one packet.
void adjust(hls::stream<word>& in, hls::stream<word>& out) {
#pragma HLS interface axis port = in
#pragma HLS interface axis port = out
  for (bool last = false; !last;) {
    word next = in.read();
#ifndef TANDEM_BROKEN
    next.data = next.data + next.user;
#endif
    last = next.last;
    out.write(next);
  }
}

// sums: [packets]
void receive(int* sums, hls::stream<word>& in, int packets) {
#pragma HLS interface m_axi port = sums
#pragma HLS interface axis port = in
  for (int packet = 0; packet < packets; ++packet) {
    int sum = 0;
    for (bool last = false; !last;) {
      const word next = in.read();
      sum += static_cast<int>(next.data);
      last = next.last;
    }
    sums[packet] = sum;
  }
}
}
