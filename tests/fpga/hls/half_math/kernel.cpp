// SPDX-License-Identifier: Apache-2.0
//
// Half precision and the mathematics library: lengths of vectors in half, their angles in fixed
// point. Broken: the length is not a square root.
#include <ap_fixed.h>
#include <hls_half.h>
#include <hls_math.h>

typedef ap_fixed<16, 3> Angle;

extern "C" void polar(const half* x, const half* y, half* lengths, Angle* angles, int size) {
#pragma HLS interface m_axi port = x bundle = gmem0
#pragma HLS interface m_axi port = y bundle = gmem1
#pragma HLS interface m_axi port = lengths bundle = gmem2
#pragma HLS interface m_axi port = angles bundle = gmem3
  for (int i = 0; i < size; ++i) {
#pragma HLS pipeline II = 1
    const half square = x[i] * x[i] + y[i] * y[i];
#ifdef TANDEM_BROKEN
    lengths[i] = square;
#else
    lengths[i] = hls::half_sqrt(square);
#endif
    angles[i] = hls::atan2(ap_fixed<16, 3>(ap_fixed<32, 16>(y[i]) / 16),
                           ap_fixed<16, 3>(ap_fixed<32, 16>(x[i]) / 16));
  }
}
