// SPDX-License-Identifier: Apache-2.0
//
// The twins of twins.cl.
extern "C" void sum(const float* in, const float* more, float* out, int n) {
  float total = 0;
  for (int i = 0; i < n; ++i) total += in[i];
  out[0] = total + more[0];
}

extern "C" void slow(const int* in, const int* more, int* out, int n) {
  for (int i = 0; i < n; ++i) {
#pragma HLS pipeline II = 3
    out[i] = in[i] * 5;
  }
}

extern "C" void staged(const int* in, const int* more, int* out, int n) {
  int part[1024], whole[1024];
#pragma HLS array_partition variable = part cyclic factor = 4
  for (int i = 0; i < 1024; ++i) part[i] = whole[i] = in[i];
  int total = 0;
  for (int i = 0; i < 1024; i += 8) {
#pragma HLS pipeline II = 1
    for (int j = 0; j < 8; ++j) total ^= part[i + j];
  }
  for (int i = 0; i < 1024; i += 8) {
#pragma HLS pipeline II = 1
    for (int j = 0; j < 8; ++j) total ^= whole[i + j];
  }
  out[0] = total;
}
