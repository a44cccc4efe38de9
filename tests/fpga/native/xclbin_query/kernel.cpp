// SPDX-License-Identifier: Apache-2.0
//
// out[i] = scale * in[i] + offset. Broken: no offset.
#include <cstdint>

extern "C" void scale(const float* in, float* out, float factor, float offset, uint32_t size) {
#pragma HLS interface m_axi port = in bundle = gmem0
#pragma HLS interface m_axi port = out bundle = gmem1
#ifdef TANDEM_BROKEN
  offset = 0;
#endif
  for (uint32_t i = 0; i < size; ++i) out[i] = factor * in[i] + offset;
}
