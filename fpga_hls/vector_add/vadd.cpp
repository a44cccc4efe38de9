// SPDX-License-Identifier: Apache-2.0
//
// Vector addition: out[i] = a[i] + b[i]. The smallest kernel with three memory ports, used by the
// two example programs.
//
// Load, compute and store run as a dataflow over bounded local buffers; II = 1 per element.
#include <cstdint>

namespace {

constexpr std::uint32_t kTile = 1024;

void add_tile(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
              std::uint32_t length) {
  std::uint32_t a_tile[kTile];
  std::uint32_t b_tile[kTile];
load:
  for (std::uint32_t i = 0; i < length; ++i) {
#pragma HLS pipeline II = 1
    a_tile[i] = a[i];
    b_tile[i] = b[i];
  }
compute:
  for (std::uint32_t i = 0; i < length; ++i) {
#pragma HLS pipeline II = 1
    out[i] = a_tile[i] + b_tile[i];
  }
}

}  // namespace

extern "C" {

// a, b, out: [length] in global memory.
void vadd(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
          std::uint32_t length) {
#pragma HLS interface m_axi port = a offset = slave bundle = gmem0
#pragma HLS interface m_axi port = b offset = slave bundle = gmem1
#pragma HLS interface m_axi port = out offset = slave bundle = gmem2
#pragma HLS interface s_axilite port = a
#pragma HLS interface s_axilite port = b
#pragma HLS interface s_axilite port = out
#pragma HLS interface s_axilite port = length
#pragma HLS interface s_axilite port = return
tiles:
  for (std::uint32_t begin = 0; begin < length; begin += kTile) {
    const std::uint32_t rest = length - begin;
    add_tile(a + begin, b + begin, out + begin, rest < kTile ? rest : kTile);
  }
}
}
