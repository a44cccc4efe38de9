// SPDX-License-Identifier: Apache-2.0
//
// Box: a half-open box of integer points, lower[d] <= point[d] < upper[d] in every dimension d.
//
// The index space of an array, a region or a tile; a box holds no data. A box without extent in
// some dimension is empty and has size 0. Points are cells; nodes_of() has the nodes between them.
// Plain values, nothing allocated. Threads: any. The words box, tile and region are those of
// block-structured grids: Zhang et al., "BoxLib with Tiling", SIAM J. Sci. Comput. 38(5), 2016;
// Unat et al., "TiDA", ISC 2016.
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

  // The number of points inside.
  std::int64_t size() const {
    std::int64_t points = 1;
    for (std::size_t d = 0; d < kDims; ++d) points *= extent(d);
    return points;
  }

  bool empty() const { return size() == 0; }

  bool contains(const Point<kDims>& point) const {
    for (std::size_t d = 0; d < kDims; ++d) {
      if (point[d] < lower[d] || point[d] >= upper[d]) return false;
    }
    return true;
  }
  // An empty box is in every box.
  bool contains(const Box& other) const { return other.empty() || intersection(other) == other; }

  Box intersection(const Box& other) const {
    Box both;
    for (std::size_t d = 0; d < kDims; ++d) {
      both.lower[d] = std::max(lower[d], other.lower[d]);
      both.upper[d] = std::min(upper[d], other.upper[d]);
    }
    return both;
  }

  // The box grown by `cells` at every face; negative cells shrink it.
  Box grown(std::int64_t cells) const {
    Box result = *this;
    for (std::size_t d = 0; d < kDims; ++d) {
      result.lower[d] -= cells;
      result.upper[d] += cells;
    }
    return result;
  }

  Box shifted(const Point<kDims>& by) const {
    Box result = *this;
    for (std::size_t d = 0; d < kDims; ++d) {
      result.lower[d] += by[d];
      result.upper[d] += by[d];
    }
    return result;
  }

  // The coarse cells that cover this box, and the fine cells of a coarse box. ratio >= 1.
  Box coarsened(std::int64_t ratio) const {
    Box result;
    for (std::size_t d = 0; d < kDims; ++d) {
      result.lower[d] = floor_of(lower[d], ratio);
      result.upper[d] = -floor_of(-upper[d], ratio);
    }
    return result;
  }
  Box refined(std::int64_t ratio) const {
    Box result;
    for (std::size_t d = 0; d < kDims; ++d) {
      result.lower[d] = lower[d] * ratio;
      result.upper[d] = upper[d] * ratio;
    }
    return result;
  }

  bool operator==(const Box&) const = default;

 private:
  static std::int64_t floor_of(std::int64_t value, std::int64_t ratio) {
    return value / ratio - (value % ratio < 0 ? 1 : 0);
  }
};

// The nodes along dimension d of a box of cells. Node i is below cell i, so there is one more node
// than cells.
template <std::size_t kDims>
Box<kDims> nodes_of(Box<kDims> cells, std::size_t d) {
  ++cells.upper[d];
  return cells;
}

// The nodes of a tile of the box `whole`. Tiles share no node: the last one belongs to the tile at
// the upper face of `whole`.
template <std::size_t kDims>
Box<kDims> nodes_of_tile(const Box<kDims>& tile, const Box<kDims>& whole, std::size_t d) {
  return tile.upper[d] == whole.upper[d] ? nodes_of(tile, d) : tile;
}

// The tile with its share of the ghost cells of `whole`: it grows only at the faces of `whole`.
template <std::size_t kDims>
Box<kDims> grown_tile(Box<kDims> tile, const Box<kDims>& whole, std::int64_t ghosts) {
  for (std::size_t d = 0; d < kDims; ++d) {
    if (tile.lower[d] == whole.lower[d]) tile.lower[d] -= ghosts;
    if (tile.upper[d] == whole.upper[d]) tile.upper[d] += ghosts;
  }
  return tile;
}

// [0, extents) in every dimension.
template <std::size_t kDims>
Box<kDims> box_of(const Point<kDims>& extents) {
  return {Point<kDims>{}, extents};
}

}  // namespace tandem::tiling
