// SPDX-License-Identifier: Apache-2.0
//
// A kernel that calls a block of Verilog.
void scale(int in, int* out);
extern "C" void scaled(const int* in, int* out) {
#pragma HLS INTERFACE m_axi port = in bundle = gmem
#pragma HLS INTERFACE m_axi port = out bundle = gmem
  int result;
  scale(in[0], &result);
  out[0] = result;
}
