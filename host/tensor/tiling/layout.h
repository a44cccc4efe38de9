// SPDX-License-Identifier: Apache-2.0
//
// Layout: the boxes of a domain, their owners, and the dimensions in which the domain is periodic.
//
// The domain is cut into boxes, so they are disjoint and cover it. cut_to_size() makes boxes of a
// limited extent; cut_in() makes a given number of boxes, as cubic as its factors allow. Owners:
// by_curve() gives each rank consecutive boxes along the Morton order, so neighbouring boxes are on
// one rank; by_knapsack() balances points, largest box first. Plain values. Threads: any. Errors:
// Error. Source: see box.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "common/error.h"
#include "tensor/tiling/box.h"
#include "tensor/tiling/tile_iterator.h"

namespace tandem::tiling {

template <std::size_t kDims>
using BoxArray = std::vector<Box<kDims>>;

// Cuts the domain into boxes of at most these extents.
template <std::size_t kDims>
BoxArray<kDims> cut_to_size(const Box<kDims>& domain, const Point<kDims>& most) {
  Point<kDims> even{};
  for (std::size_t d = 0; d < kDims; ++d) {
    if (most[d] <= 0) throw Error("tiling", "a box needs a positive extent in every dimension");
    const std::int64_t extent = std::max<std::int64_t>(domain.extent(d), 1);
    const std::int64_t count = (extent + most[d] - 1) / most[d];
    even[d] = (extent + count - 1) / count;
  }
  const Tiles<kDims> tiles(domain, even);
  return {tiles.begin(), tiles.end()};
}

// Cuts the domain into `count` boxes. Each factor of `count`, the largest first, cuts the dimension
// that is then the longest. Of equal dimensions it cuts the outermost one, along which memory is
// contiguous.
template <std::size_t kDims>
BoxArray<kDims> cut_in(const Box<kDims>& domain, std::int64_t count) {
  std::vector<std::int64_t> factors;
  for (std::int64_t factor = 2, left = count; left > 1;) {
    if (left % factor == 0) {
      factors.push_back(factor);
      left /= factor;
    } else {
      factor = factor * factor > left ? left : factor + 1;
    }
  }
  Point<kDims> cuts;
  cuts.fill(1);
  for (auto factor = factors.rbegin(); factor != factors.rend(); ++factor) {
    std::size_t longest = 0;
    for (std::size_t d = 1; d < kDims; ++d) {
      if (domain.extent(d) * cuts[longest] > domain.extent(longest) * cuts[d]) longest = d;
    }
    cuts[longest] *= *factor;
  }
  for (std::size_t d = 0; d < kDims; ++d) {
    if (domain.extent(d) < cuts[d]) {
      throw Error("tiling", "an edge of " + std::to_string(domain.extent(d)) +
                                " cells cannot be cut into " + std::to_string(cuts[d]) +
                                " parts, as " + std::to_string(count) +
                                " boxes need; use fewer ranks or boxes");
    }
  }
  BoxArray<kDims> boxes;
  Point<kDims> one;
  one.fill(1);
  for (const Box<kDims>& place : Tiles<kDims>(box_of<kDims>(cuts), one)) {
    Box<kDims>& box = boxes.emplace_back();
    for (std::size_t d = 0; d < kDims; ++d) {
      box.lower[d] = domain.lower[d] + domain.extent(d) * place.lower[d] / cuts[d];
      box.upper[d] = domain.lower[d] + domain.extent(d) * place.upper[d] / cuts[d];
    }
  }
  return boxes;
}

template <std::size_t kDims>
struct Layout {
  Box<kDims> domain;
  BoxArray<kDims> boxes;
  std::vector<int> owners;             // [boxes] ranks
  std::array<bool, kDims> periodic{};  // whether the domain is periodic in this dimension

  std::vector<std::size_t> boxes_of(int rank) const {
    std::vector<std::size_t> result;
    for (std::size_t box = 0; box < boxes.size(); ++box) {
      if (owners[box] == rank) result.push_back(box);
    }
    return result;
  }
};

namespace curve_order {

// Whether a comes before b on the Morton curve; coordinates are not negative.
template <std::size_t kDims>
bool is_before(const Point<kDims>& a, const Point<kDims>& b) {
  std::size_t decides = 0;
  std::uint64_t highest = 0;
  for (std::size_t d = 0; d < kDims; ++d) {
    const auto differs = static_cast<std::uint64_t>(a[d]) ^ static_cast<std::uint64_t>(b[d]);
    // True if the highest bit of `differs` is above the highest bit of `highest`.
    if (highest < differs && highest < (highest ^ differs)) {
      decides = d;
      highest = differs;
    }
  }
  return a[decides] < b[decides];
}

}  // namespace curve_order

// [boxes] owners: consecutive boxes along the curve of their lower corners, with about equal
// points.
template <std::size_t kDims>
std::vector<int> by_curve(const Box<kDims>& domain, const BoxArray<kDims>& boxes, int ranks) {
  std::vector<std::size_t> along(boxes.size());
  std::iota(along.begin(), along.end(), std::size_t{0});
  const auto corner = [&](std::size_t box) {
    Point<kDims> point = boxes[box].lower;
    for (std::size_t d = 0; d < kDims; ++d) point[d] -= domain.lower[d];
    return point;
  };
  std::sort(along.begin(), along.end(), [&](std::size_t a, std::size_t b) {
    return curve_order::is_before<kDims>(corner(a), corner(b));
  });
  const double total = static_cast<double>(domain.size());
  std::vector<int> owners(boxes.size());
  double passed = 0;
  for (const std::size_t box : along) {
    const auto points = static_cast<double>(boxes[box].size());
    const auto rank = static_cast<int>((passed + points / 2) / total * ranks);
    owners[box] = std::min(rank, ranks - 1);
    passed += points;
  }
  return owners;
}

// [boxes] owners: the largest box goes to the rank with the fewest points so far.
template <std::size_t kDims>
std::vector<int> by_knapsack(const BoxArray<kDims>& boxes, int ranks) {
  std::vector<std::size_t> by_size(boxes.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return boxes[a].size() > boxes[b].size(); });
  std::vector<std::int64_t> loads(static_cast<std::size_t>(ranks));
  std::vector<int> owners(boxes.size());
  for (const std::size_t box : by_size) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += boxes[box].size();
    owners[box] = static_cast<int>(least - loads.begin());
  }
  return owners;
}

}  // namespace tandem::tiling
