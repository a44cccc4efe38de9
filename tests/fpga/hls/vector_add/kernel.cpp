// SPDX-License-Identifier: Apache-2.0
//
// Sixteen floats a beat: out = a * scale + b lane by lane, and each beat's sum. Broken: the scale
// is left out.
#include <hls_vector.h>

typedef hls::vector<float, 16> Beat;

extern "C" void axpy(const Beat* a, const Beat* b, Beat* out, float* sums, float scale, int beats) {
#pragma HLS interface m_axi port = a bundle = gmem0
#pragma HLS interface m_axi port = b bundle = gmem1
#pragma HLS interface m_axi port = out bundle = gmem0
#pragma HLS interface m_axi port = sums bundle = gmem2
#ifdef TANDEM_BROKEN
  scale = 1;
#endif
  for (int i = 0; i < beats; ++i) {
#pragma HLS pipeline II = 1
    const Beat beat = a[i] * scale + b[i];
    out[i] = beat;
    sums[i] = beat.reduce_add();
  }
}
