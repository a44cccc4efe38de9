// SPDX-License-Identifier: Apache-2.0
//
// The same work under the two block protocols with registers: data[i] ^= mask. Broken: mask + 1.
#include <cstdint>

namespace {

void apply(uint32_t* data, uint32_t size, uint32_t mask) {
#ifdef TANDEM_BROKEN
  ++mask;
#endif
  for (uint32_t i = 0; i < size; ++i) data[i] ^= mask;
}

}  // namespace

extern "C" void chained(uint32_t* data, uint32_t size, uint32_t mask) {
#pragma HLS interface m_axi port = data
#pragma HLS interface ap_ctrl_chain port = return
  apply(data, size, mask);
}

extern "C" void shaken(uint32_t* data, uint32_t size, uint32_t mask) {
#pragma HLS interface m_axi port = data
#pragma HLS interface ap_ctrl_hs port = return
  apply(data, size, mask);
}
