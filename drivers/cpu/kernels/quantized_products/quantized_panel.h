// SPDX-License-Identifier: Apache-2.0
//
// Packs up to 16 rows of a quantised matrix into the order of packed_format.h.
//
// Every byte is read once and about as many are written, 4 at a time, in scalar code: 32 values
// take some 40 cycles. Outputs beyond the last one of a short panel are not written. Threads: any;
// pure functions.
#pragma once

#include <cstddef>

#include "tensor/dtype.h"

namespace tandem::device::cpu {

struct StoredRows {
  DType dtype = DType::kQ8_0;       // one with a packed_format()
  const std::byte* data = nullptr;  // [outputs, in_features], as files store them, at any address
  std::size_t outputs = 0;          // 1..16
  std::size_t in_features = 0;      // whole blocks
};

void pack_quantized_panel(const StoredRows& rows, std::byte* panel);

}  // namespace tandem::device::cpu
