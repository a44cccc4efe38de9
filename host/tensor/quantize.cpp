// SPDX-License-Identifier: Apache-2.0
//
// Rows of f32 to quantised blocks.
#include <cmath>

#include "common/error.h"
#include "tensor/dtype.h"

namespace tandem {

void quantize_row_q8_0(const float* from, BlockQ8_0* to, std::size_t num_values) {
  TANDEM_CHECK_OP(num_values % BlockQ8_0::kValues, ==, 0u);
  for (std::size_t b = 0; b < num_values / BlockQ8_0::kValues; ++b, from += BlockQ8_0::kValues) {
    float peak = 0.0f;
    for (int i = 0; i < BlockQ8_0::kValues; ++i) peak = std::fmax(peak, std::fabs(from[i]));
    const float scale = peak / 127.0f;
    const float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
    to[b].scale = f32_to_f16(scale);
    for (int i = 0; i < BlockQ8_0::kValues; ++i) {
      to[b].q[i] = static_cast<std::int8_t>(std::lround(from[i] * inverse));
    }
  }
}

}  // namespace tandem
