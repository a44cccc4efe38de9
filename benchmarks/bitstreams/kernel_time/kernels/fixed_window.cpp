// SPDX-License-Identifier: Apache-2.0
//
// A window of constants over 512 fixed-point samples.
#include <ap_fixed.h>

#include <cstring>

typedef ap_fixed<8, 8> Sample;
typedef ap_fixed<24, 8> Weighted;
static const int kCount = 512;
static const short kWindow[kCount] = {1, 5, 12, 22, 35, 51, 70, 92};

extern "C" void top(Weighted* outputs, Sample* samples) {
#pragma HLS interface m_axi port = samples bundle = samples
#pragma HLS interface m_axi port = outputs bundle = outputs
  Sample in[kCount];
  Weighted out[kCount];
  memcpy(in, samples, sizeof(in));
  for (int at = 0; at < kCount; ++at) {
    ap_fixed<16, 1> weight;
    weight.range(15, 0) = ap_int<16>(kWindow[at]);
    out[at] = weight * in[at];
  }
  memcpy(outputs, out, sizeof(out));
}

extern "C" void call(char* const* memory) {
  top(reinterpret_cast<Weighted*>(memory[0]), reinterpret_cast<Sample*>(memory[1]));
}
