// SPDX-License-Identifier: Apache-2.0
//
// C++ kernels at both ends of a stream: from memory, and to memory. `drain` reads until `last`, and
// counts the words.
#include <ap_axi_sdata.h>
#include <hls_stream.h>

typedef ap_axiu<32, 0, 0, 0> Word;

extern "C" {
// in: [length] in global memory.
void feed(const unsigned* in, hls::stream<Word>& words, int length) {
#pragma HLS INTERFACE m_axi port = in
#pragma HLS INTERFACE axis port = words
  for (int i = 0; i < length; ++i) {
    Word word;
    word.data = in[i];
    word.keep = -1;
    word.strb = -1;
    word.last = i + 1 == length;
    words.write(word);
  }
}
// out: [length] in global memory; length is at least the number of words up to `last`.
void drain(hls::stream<Word>& words, unsigned* out, int more) {
#pragma HLS INTERFACE m_axi port = out
#pragma HLS INTERFACE axis port = words
  int i = 0;
  bool last = false;
  while (!last) {
    const Word word = words.read();
    last = word.last && word.keep == 15;
    out[i++] = word.data.to_uint();
  }
  for (; more > 0; --more) words.read();
}
}
