// SPDX-License-Identifier: Apache-2.0
//
// Box: a half-open box of integer points, lower[d] <= point[d] < upper[d] in every dimension d.
//
// The index space of an array, a region or a tile; a box holds no data. A box without extent in
// some dimension is empty and has size 0. Plain values, nothing allocated. Threads: any. The words
// box, tile and region are those of block-structured grids: Zhang et al., "BoxLib with Tiling",
// SIAM J. Sci. Comput. 38(5), 2016; Unat et al., "TiDA", ISC 2016.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tandem::tiling {

template <std::size_t kDims>
using Point = std::array<std::int64_t, kDims>;

template <std::size_t kDims>
struct Box {
  static_assert(kDims > 0);
  Point<kDims> lower{};
  Point<kDims> upper{};

  std::int64_t extent(std::size_t d) const {
    return std::max<std::int64_t>(upper[d] - lower[d], 0);
  }

  // Points inside.
  std::int64_t size() const {
    std::int64_t points = 1;
    for (std::size_t d = 0; d < kDims; ++d) points *= extent(d);
    return points;
  }

  bool empty() const { return size() == 0; }

  bool operator==(const Box&) const = default;
};

// [0, extents) in every dimension.
template <std::size_t kDims>
Box<kDims> box_of(const Point<kDims>& extents) {
  return {Point<kDims>{}, extents};
}

}  // namespace tandem::tiling
