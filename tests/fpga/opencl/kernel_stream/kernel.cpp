// SPDX-License-Identifier: Apache-2.0
//
// Two kernels joined by a stream: one reads memory, the other adds and writes. Broken: the reader
// leaves out the last element's value.
#include <ap_axi_sdata.h>
#include <hls_stream.h>

using Word = ap_axiu<32, 0, 0, 0>;

extern "C" void reader(const int* in, hls::stream<Word>& out, unsigned int size) {
#pragma HLS interface m_axi port = in bundle = gmem
#pragma HLS interface axis port = out
  for (unsigned int i = 0; i < size; ++i) {
    Word word;
    word.data = in[i];
#ifdef TANDEM_BROKEN
    if (i + 1 == size) word.data = 0;
#endif
    word.keep = -1;
    word.last = i + 1 == size;
    out.write(word);
  }
}

extern "C" void adder(hls::stream<Word>& in, const int* other, int* out, unsigned int size) {
#pragma HLS interface axis port = in
#pragma HLS interface m_axi port = other bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
  for (unsigned int i = 0; i < size; ++i) {
    out[i] = static_cast<int>(in.read().data) + other[i];
  }
}
