// SPDX-License-Identifier: Apache-2.0
//
// Regions: REGIONAL tiling. A box divided among homes (NUMA nodes or workers). Each home touches
// the memory of its region first; the region is divided into tiles.
//
// The box is cut along one dimension between tiles, so a tile has one home. The share of a home is
// proportional to its weight, within one tile; it may be empty. Tiles are numbered region by
// region, as ThreadPool::run_regions() requires; bounds() has the first tile of each region. If the
// cut dimension is the outermost one of an array, the memory of a region is contiguous. Threads:
// any. Source: see box.h; the placement of regions is Unat et al., "TiDA", ISC 2016.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/error.h"
#include "tensor/tiling/box.h"
#include "tensor/tiling/tile_iterator.h"

namespace tandem::tiling {

template <std::size_t kDims>
class Regions {
 public:
  // One region for each weight (cores of a node); weights are not negative and not all 0.
  Regions(const Box<kDims>& domain, const Point<kDims>& tile, std::span<const int> weights,
          std::size_t cut_dimension = 0)
      : domain_(domain) {
    std::int64_t total = 0;
    for (const int weight : weights) {
      if (weight < 0) throw Error("tiling", "a region's weight must not be negative");
      total += weight;
    }
    if (total == 0) throw Error("tiling", "regions need a weight above 0");
    if (cut_dimension >= kDims) throw Error("tiling", "the dimension to cut is not one of the box");
    const std::int64_t slabs = Tiles<kDims>(domain, tile).num_tiles(cut_dimension);
    std::int64_t passed = 0, at = domain.lower[cut_dimension];
    bounds_.push_back(0);
    for (const int weight : weights) {
      passed += weight;
      Box<kDims> region = domain;
      region.lower[cut_dimension] = at;
      at = cut_after((slabs * passed + total / 2) / total, tile[cut_dimension], cut_dimension);
      region.upper[cut_dimension] = at;
      regions_.emplace_back(region, tile);
      bounds_.push_back(bounds_.back() + static_cast<std::size_t>(regions_.back().num_tiles()));
    }
  }

  std::size_t num_regions() const { return regions_.size(); }
  std::size_t num_tiles() const { return bounds_.back(); }

  const Box<kDims>& region(std::size_t r) const { return regions_[r].domain(); }

  // [num_regions + 1] region r has the tiles bounds[r] .. bounds[r + 1].
  std::span<const std::size_t> bounds() const { return bounds_; }

  // Which region a tile belongs to, and its box. tile in [0, num_tiles()).
  std::size_t region_of(std::size_t tile) const {
    const auto after = std::upper_bound(bounds_.begin(), bounds_.end(), tile);
    return static_cast<std::size_t>(after - bounds_.begin()) - 1;
  }
  Box<kDims> tile(std::size_t tile) const {
    const std::size_t r = region_of(tile);
    return regions_[r].tile(static_cast<std::int64_t>(tile - bounds_[r]));
  }

 private:
  std::int64_t cut_after(std::int64_t slabs, std::int64_t thickness, std::size_t d) const {
    return domain_.lower[d] + std::min(slabs * thickness, domain_.extent(d));
  }

  Box<kDims> domain_;
  std::vector<Tiles<kDims>> regions_;
  std::vector<std::size_t> bounds_;  // [num_regions + 1]
};

}  // namespace tandem::tiling
