// SPDX-License-Identifier: Apache-2.0
//
// CopyPlan: the points that are copied from the boxes of one layout to those of another, and the
// ranks that exchange them.
//
// ghost_plan() fills ghost cells from the boxes that own them, also across the ends of periodic
// dimensions; other cells outside of the domain do not change. copy_plan() copies between layouts
// of one domain. A plan depends only on the layouts: make it once and keep it with the field. Cost:
// pairs of boxes times 3^kDims. Memory: a list of pieces. Threads: any may read it. Errors: Error
// if ghost cells reach further than a periodic domain. Source: see box.h.
#pragma once

#include <map>
#include <vector>

#include "common/error.h"
#include "tensor/tiling/layout.h"

namespace tandem::tiling {

// The points `region` of box `to` come from the points `region` shifted by `shift` of box `from`.
// `from` and `to` are indices in their layouts.
template <std::size_t kDims>
struct CopyPiece {
  std::size_t from = 0, to = 0;
  Box<kDims> region;
  Point<kDims> shift{};
};

template <std::size_t kDims>
struct CopyPlan {
  std::vector<CopyPiece<kDims>> local;  // both boxes belong to this rank
  // by peer; in the same order on both ranks
  std::map<int, std::vector<CopyPiece<kDims>>> sends, receives;
};

namespace copies {

// All shifts of a periodic domain; the first one is zero.
template <std::size_t kDims>
std::vector<Point<kDims>> shifts_of(const Layout<kDims>& layout) {
  std::vector<Point<kDims>> shifts{Point<kDims>{}};
  for (std::size_t d = 0; d < kDims; ++d) {
    if (!layout.periodic[d]) continue;
    const std::size_t before = shifts.size();
    for (const std::int64_t turn : {-1, 1}) {
      for (std::size_t i = 0; i < before; ++i) {
        Point<kDims> shift = shifts[i];
        shift[d] = turn * layout.domain.extent(d);
        shifts.push_back(shift);
      }
    }
  }
  return shifts;
}

template <std::size_t kDims>
void add(const CopyPiece<kDims>& piece, int from, int to, int rank, CopyPlan<kDims>& plan) {
  if (from == rank && to == rank) plan.local.push_back(piece);
  if (from == rank && to != rank) plan.sends[to].push_back(piece);
  if (from != rank && to == rank) plan.receives[from].push_back(piece);
}

}  // namespace copies

template <std::size_t kDims>
CopyPlan<kDims> ghost_plan(const Layout<kDims>& layout, std::int64_t ghosts, int rank) {
  for (std::size_t d = 0; d < kDims; ++d) {
    if (layout.periodic[d] && ghosts > layout.domain.extent(d)) {
      throw Error("tiling", std::to_string(ghosts) + " ghost cells reach around a domain of " +
                                std::to_string(layout.domain.extent(d)) +
                                " cells; use more cells, or fewer steps in one pass");
    }
  }
  const std::vector<Point<kDims>> shifts = copies::shifts_of(layout);
  CopyPlan<kDims> plan;
  for (std::size_t to = 0; to < layout.boxes.size(); ++to) {
    const Box<kDims> grown = layout.boxes[to].grown(ghosts);
    for (std::size_t from = 0; from < layout.boxes.size(); ++from) {
      if (layout.owners[from] != rank && layout.owners[to] != rank) continue;
      for (const Point<kDims>& shift : shifts) {
        if (from == to && shift == Point<kDims>{}) continue;
        Point<kDims> back{};
        for (std::size_t d = 0; d < kDims; ++d) back[d] = -shift[d];
        const Box<kDims> region = grown.intersection(layout.boxes[from].shifted(back));
        if (region.empty()) continue;
        copies::add({from, to, region, shift}, layout.owners[from], layout.owners[to], rank, plan);
      }
    }
  }
  return plan;
}

template <std::size_t kDims>
CopyPlan<kDims> copy_plan(const Layout<kDims>& source, const Layout<kDims>& target, int rank) {
  CopyPlan<kDims> plan;
  for (std::size_t to = 0; to < target.boxes.size(); ++to) {
    for (std::size_t from = 0; from < source.boxes.size(); ++from) {
      const Box<kDims> region = target.boxes[to].intersection(source.boxes[from]);
      if (region.empty()) continue;
      copies::add({from, to, region, Point<kDims>{}}, source.owners[from], target.owners[to], rank,
                  plan);
    }
  }
  return plan;
}

}  // namespace tandem::tiling
