// SPDX-License-Identifier: Apache-2.0
//
// The end of produce.cpp's link, compiled as C++11: only ap_int.h and hls_stream.h are included.
#include <ap_int.h>
#include <hls_stream.h>

typedef ap_fixed<40, 36> Value;

extern "C" {

void consume(int* out, hls::stream<ap_uint<40>>& in, int count) {
#pragma HLS interface axis port = in
  for (int i = 0; i < count; ++i) {
    Value value;
    value.range() = in.read();
    std::ostringstream text;
    text << value.to_int();
    out[i] = std::atoi(text.str().c_str());
  }
}
}
