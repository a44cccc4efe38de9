// SPDX-License-Identifier: Apache-2.0
//
// Clips values; which lines run depends on the input.
static int clip(int value, int most) {
  if (value > most) {
    return most;
  }
  return value;
}

extern "C" void clipped(const int* in, int* out, int count, int most) {
#pragma HLS interface m_axi port = in bundle = g0
#pragma HLS interface m_axi port = out bundle = g1
  for (int i = 0; i < count; ++i) {
    out[i] = clip(in[i], most);
  }
}
