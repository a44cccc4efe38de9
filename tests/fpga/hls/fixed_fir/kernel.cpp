// SPDX-License-Identifier: Apache-2.0
//
// A finite impulse response filter in fixed point: samples and taps of 16 bits, an exact
// accumulator, results rounded to even and saturated. Broken: results wrap.
#include <ap_fixed.h>
#include <ap_shift_reg.h>

typedef ap_fixed<16, 4> Sample;
typedef ap_fixed<16, 2> Tap;
#ifdef TANDEM_BROKEN
typedef ap_fixed<12, 4> Result;
#else
typedef ap_fixed<12, 4, AP_RND_CONV, AP_SAT> Result;
#endif

extern "C" void fir(const Sample* samples, const Tap* taps, Result* results, ap_uint<16> size) {
#pragma HLS interface m_axi port = samples bundle = gmem0
#pragma HLS interface m_axi port = taps bundle = gmem1
#pragma HLS interface m_axi port = results bundle = gmem0
  Tap coefficients[8];
  for (int tap = 0; tap < 8; ++tap) coefficients[tap] = taps[tap];
  ap_shift_reg<Sample, 8> line;
filter:
  for (ap_uint<16> i = 0; i < size; ++i) {
#pragma HLS pipeline II = 1
    line.shift(samples[i]);
    ap_fixed<35, 9> sum = 0;
    for (int tap = 0; tap < 8; ++tap) sum += coefficients[tap] * line.read(tap);
    results[i] = sum;
  }
}
