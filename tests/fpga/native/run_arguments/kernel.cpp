// SPDX-License-Identifier: Apache-2.0
//
// Writes what it got, each number on its own. Broken: the structure's last member is left out.
#include <cstdint>

struct Quad {
  int64_t first;
  float second;
  uint16_t third;
  int8_t fourth;
};

extern "C" void show(int8_t byte, bool flag, uint16_t half, int32_t word, int64_t wide, float real,
                     double precise, Quad quad, double* out, uint64_t last) {
#pragma HLS interface m_axi port = out
  const double values[] = {static_cast<double>(byte),
                           flag ? 1.0 : 0.0,
                           static_cast<double>(half),
                           static_cast<double>(word),
                           static_cast<double>(wide),
                           static_cast<double>(real),
                           precise,
                           static_cast<double>(quad.first),
                           static_cast<double>(quad.second),
                           static_cast<double>(quad.third),
#ifdef TANDEM_BROKEN
                           0,
#else
                           static_cast<double>(quad.fourth),
#endif
                           static_cast<double>(last)};
  for (int i = 0; i < 12; ++i) out[i] = values[i];
}
