// SPDX-License-Identifier: Apache-2.0
//
// Sizes of operands in bytes, checked for overflow and negative counts.
//
// Threads: plain data. Errors: Error("device", ...) naming the number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/error.h"
#include "device/compute_ops.h"

namespace tandem::device {

// Bytes of [rows, width] floats.
inline std::size_t float_bytes(std::int64_t rows, std::int64_t width) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (rows < 0 || width < 0 || (width > 0 && rows > kMost / width)) {
    throw Error("device", "an operand of " + std::to_string(rows) + " rows of " +
                              std::to_string(width) + " values is not possible");
  }
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(width) * sizeof(float);
}

inline std::int64_t end_row(std::span<const std::int32_t> rows) {
  std::int64_t end = 0;
  for (const std::int32_t row : rows) {
    if (row < 0) throw Error("device", "row " + std::to_string(row) + " is negative");
    end = std::max<std::int64_t>(end, std::int64_t{row} + 1);
  }
  return end;
}

inline std::int64_t end_row(std::span<const CausalChunk> chunks) {
  std::int64_t end = 0;
  for (const CausalChunk& chunk : chunks) {
    end = std::max<std::int64_t>(end, std::int64_t{chunk.row_begin} + chunk.num_rows);
  }
  return end;
}

}  // namespace tandem::device
