// SPDX-License-Identifier: Apache-2.0
//
// Maps of matrices in the interpreter, and the copies of their boxes.
//
// cuTensorMapEncodeTiled refuses what the driver refuses: addresses and strides that are no
// multiple of 16 bytes, boxes of none or more than 256 rows or of more bytes per row than the
// swizzle has, matrices without rows. A copy refuses what is no map.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::simt {

struct MapOfBoxes {
  std::uint64_t magic;
  const unsigned char* values;
  std::uint64_t num_columns, num_rows, row_bytes;
  std::uint32_t box_columns, box_rows;
};

const MapOfBoxes& boxes_of(const void* map);
std::size_t box_bytes(const MapOfBoxes& map);

// To shared memory, in the 128-byte swizzle of its addresses; zeros from outside the matrix.
void copy_swizzled_box(const MapOfBoxes& map, int column, int row, std::uint32_t to);

}  // namespace tandem::simt
