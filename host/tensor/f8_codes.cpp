// SPDX-License-Identifier: Apache-2.0
//
// Parts of the matrix, each in a loop without branches.
#include "tensor/f8_codes.h"

#include <algorithm>
#include <string>

#include "common/error.h"

namespace tandem {
namespace {

constexpr std::size_t kPartBytes = std::size_t{1} << 20;

bool is_nan(std::byte code) { return (code & std::byte{0x7f}) == std::byte{0x7f}; }

bool holds_nan(const std::byte* codes, std::size_t count) {
  std::uint8_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found |= static_cast<std::uint8_t>(is_nan(codes[i]));
  return found != 0;
}

}  // namespace

void check_f8_codes(const TensorView& matrix, ThreadPool& pool) {
  if (matrix.dtype != DType::kF8E4M3) return;
  const std::size_t bytes = matrix.size_bytes();
  pool.run((bytes + kPartBytes - 1) / kPartBytes, [&](std::size_t part) {
    const std::byte* begin = matrix.data + part * kPartBytes;
    const std::size_t count = std::min(kPartBytes, bytes - part * kPartBytes);
    if (!holds_nan(begin, count)) return;
    const auto at = std::find_if(begin, begin + count, is_nan) - matrix.data;
    throw Error("tensor", "'" + matrix.name + "', row " + std::to_string(at / matrix.columns) +
                              ", column " + std::to_string(at % matrix.columns) +
                              ": the weight is not a number; use an undamaged copy of the model");
  });
}

}  // namespace tandem
