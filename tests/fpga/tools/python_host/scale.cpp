// SPDX-License-Identifier: Apache-2.0
//
// Scalars of every size beside buffers: out[i] = in[i] * factor + offset, and the flag in the last
// place.
#include <ap_int.h>

extern "C" void scale(const float* in, float* out, int size, float factor, double offset,
                      unsigned char flag, long long wide, ap_uint<96> words) {
#pragma HLS INTERFACE m_axi port = in bundle = gmem0
#pragma HLS INTERFACE m_axi port = out bundle = gmem1
  for (int i = 0; i < size; i++) out[i] = in[i] * factor + static_cast<float>(offset);
  out[size] = flag;
  out[size + 1] = wide == -5000000000LL ? 1.0F : 0.0F;
  out[size + 2] = static_cast<float>(words.range(95, 64).to_uint());
}

extern "C" void bump(int* values, int size) {
#pragma HLS INTERFACE m_axi port = values bundle = gmem0
  for (int i = 0; i < size; i++) values[i] += 1;
}
