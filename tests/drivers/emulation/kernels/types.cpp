// SPDX-License-Identifier: Apache-2.0
//
// A kernel with an argument of every size; it writes back what it received.
#include <cstdint>

struct Triple {
  std::int32_t x, y, z;
};

// out: [8] doubles
extern "C" void types(char c, bool b, std::int16_t s, std::int64_t l, float f, double d,
                      Triple triple, double* out) {
#pragma HLS interface m_axi port = out offset = slave bundle = gmem0
#pragma HLS interface ap_ctrl_hs port = return
  out[0] = c;
  out[1] = b;
  out[2] = s;
  out[3] = static_cast<double>(l);
  out[4] = f;
  out[5] = d;
  out[6] = triple.x + 10.0 * triple.y + 100.0 * triple.z;
  out[7] = 1;
}
