// SPDX-License-Identifier: Apache-2.0
//
// Tiles: LOGICAL tiling. Cuts a box into tiles that are visited in order; the array does not
// change.
//
// Cut::kClipped: tiles begin at the box's lower corner and have the tile's extents, except the last
// of a dimension, which is clipped to the box. Cut::kBalanced: a dimension of n points has
// max(1, n / extent) tiles, which differ by one point at most, the longer ones first. They are
// numbered with the last dimension fastest, so every point is in exactly one tile, and `for (const
// Box& tile : tiles)` meets them by number. Cost: kDims divisions a tile. Threads: any. Source: as
// box.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "common/error.h"
#include "tensor/tiling/box.h"

namespace tandem::tiling {

enum class Cut : std::uint8_t { kClipped, kBalanced };

template <std::size_t kDims>
class Tiles;

// Forward iteration over tiles by number.
template <std::size_t kDims>
class TileIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = Box<kDims>;
  using difference_type = std::ptrdiff_t;
  using pointer = const Box<kDims>*;
  using reference = Box<kDims>;

  TileIterator(const Tiles<kDims>& tiles, std::int64_t index) : tiles_(&tiles), index_(index) {}

  Box<kDims> operator*() const { return tiles_->tile(index_); }
  TileIterator& operator++() {
    ++index_;
    return *this;
  }
  bool operator==(const TileIterator& other) const { return index_ == other.index_; }

 private:
  const Tiles<kDims>* tiles_;
  std::int64_t index_;
};

template <std::size_t kDims>
class Tiles {
 public:
  // Extents of `tile` must be positive: throws Error.
  Tiles(const Box<kDims>& domain, const Point<kDims>& tile, Cut cut = Cut::kClipped)
      : domain_(domain), tile_(tile) {
    for (std::size_t d = 0; d < kDims; ++d) {
      if (tile[d] <= 0) throw Error("tiling", "a tile needs a positive extent in every dimension");
      const std::int64_t extent = domain.extent(d);
      counts_[d] = extent / tile[d] + (extent % tile[d] != 0 ? 1 : 0);
      if (cut == Cut::kBalanced && extent > 0) {
        counts_[d] = std::max<std::int64_t>(1, extent / tile[d]);
        tile_[d] = extent / counts_[d];
        longer_[d] = extent % counts_[d];
      }
      num_tiles_ *= counts_[d];
    }
  }

  const Box<kDims>& domain() const { return domain_; }
  std::int64_t num_tiles() const { return num_tiles_; }
  std::int64_t num_tiles(std::size_t d) const { return counts_[d]; }

  // index in [0, num_tiles()).
  Box<kDims> tile(std::int64_t index) const {
    Box<kDims> box;
    for (std::size_t d = kDims; d-- > 0;) {
      const std::int64_t at = index % counts_[d];
      index /= counts_[d];
      box.lower[d] = domain_.lower[d] + at * tile_[d] + std::min(at, longer_[d]);
      const std::int64_t extent = tile_[d] + (at < longer_[d] ? 1 : 0);
      box.upper[d] = box.lower[d] + std::min(extent, domain_.upper[d] - box.lower[d]);
    }
    return box;
  }

  TileIterator<kDims> begin() const { return {*this, 0}; }
  TileIterator<kDims> end() const { return {*this, num_tiles_}; }

 private:
  Box<kDims> domain_;
  Point<kDims> tile_;
  Point<kDims> counts_{};
  Point<kDims> longer_{};  // number of tiles that are one point longer than tile_
  std::int64_t num_tiles_ = 1;
};

}  // namespace tandem::tiling
