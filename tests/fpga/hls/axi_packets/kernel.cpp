// SPDX-License-Identifier: Apache-2.0
//
// Two kernels joined by an AXI4-Stream with side channels: `send` cuts memory into packets, with
// keep, user, dest and last; `receive` writes the kept bytes of each packet and its channels.
// Broken: last never comes with the packet's end but one beat early.
#include <ap_axi_sdata.h>
#include <hls_stream.h>

typedef ap_axiu<64, 8, 0, 4> Beat;

// Packet p has lengths[p] bytes, from one packet to the next without a gap.
extern "C" void send(const unsigned char* bytes, const unsigned* lengths, unsigned packets,
                     hls::stream<Beat>& out) {
#pragma HLS interface m_axi port = bytes bundle = gmem0
#pragma HLS interface m_axi port = lengths bundle = gmem1
#pragma HLS interface axis port = out
  unsigned at = 0;
  for (unsigned packet = 0; packet < packets; ++packet) {
    for (unsigned done = 0; done < lengths[packet]; done += 8) {
#pragma HLS pipeline II = 1
      const unsigned rest = lengths[packet] - done;
      Beat beat;
      beat.data = 0;
      beat.keep = rest < 8 ? ap_uint<8>((1 << rest) - 1) : ap_uint<8>(0xff);
      beat.strb = beat.keep;
      for (unsigned i = 0; i < 8 && i < rest; ++i) beat.data(8 * i + 7, 8 * i) = bytes[at++];
      beat.user = packet;
      beat.dest = packet % 16;
#ifdef TANDEM_BROKEN
      beat.last = rest <= 16;
#else
      beat.last = rest <= 8;
#endif
      out.write(beat);
    }
  }
}

// marks[p]: bytes | user << 16 | dest << 24.
extern "C" void receive(hls::stream<Beat>& in, unsigned char* bytes, unsigned* marks,
                        unsigned packets) {
#pragma HLS interface axis port = in
#pragma HLS interface m_axi port = bytes bundle = gmem0
#pragma HLS interface m_axi port = marks bundle = gmem1
  unsigned at = 0;
  for (unsigned packet = 0; packet < packets; ++packet) {
    unsigned length = 0;
    Beat beat;
    do {
#pragma HLS pipeline II = 1
      beat = in.read();
      for (int i = 0; i < 8; ++i) {
        if (!beat.keep[i]) continue;
        bytes[at++] = beat.data.range(8 * i + 7, 8 * i);
        ++length;
      }
    } while (!beat.last);
    marks[packet] = length | beat.get_user().to_uint() << 16 | beat.get_dest().to_uint() << 24;
  }
}
