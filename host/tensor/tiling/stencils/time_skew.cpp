// SPDX-License-Identifier: Apache-2.0
//
// Scratch has rings of planes, one for each level but the last.
#include "tensor/tiling/stencils/time_skew.h"

#include <algorithm>

#include "common/error.h"
#include "tensor/tiling/stencils/stencil_row.h"

namespace tandem::tiling {
namespace {

class SkewedTile {
 public:
  SkewedTile(const SkewedPass& pass, const Box<3>& tile, RawVector<double>& scratch)
      : pass_(pass),
        tile_(tile),
        radius_(pass.stencil->radius()),
        planes_(pass.stencil->slab_planes()),
        ring_(2 * radius_ + planes_) {
    TANDEM_CHECK(pass.writable.contains(tile));  // the last level keeps nothing
    for (const auto* field : {&pass.conductivity, &pass.heat_source}) {
      TANDEM_CHECK(field->first == nullptr || field->strides == pass.source.strides);
    }
    const Box<3> widest = region_of(1);
    rows_ = widest.extent(1);
    // The tile's first column is at a cache line in every row, as in fields; rows are no multiple
    // of 4096 bytes apart.
    const std::int64_t before = tile.lower[2] - widest.lower[2], pad = (8 - before % 8) % 8;
    row_stride_ = (pad + widest.extent(2) + 7) / 8 * 8;
    if (row_stride_ % 512 == 0) row_stride_ += 8;
    plane_stride_ = spread_stride(rows_ * row_stride_, 8);
    const std::int64_t planes = ring_ * (pass.levels - 1);
    scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(planes * plane_stride_ + 16)));
    const auto words = reinterpret_cast<std::uintptr_t>(scratch.data()) / sizeof(double);
    values_ = scratch.data() + (8 - words % 8) % 8 + pad;
    lower_ = widest.lower;
  }

  void run() {
    const std::int64_t first = region_of(1).lower[0],
                       last = tile_.upper[0] + radius_ * (pass_.levels - 1);
    for (std::int64_t wave = first; wave < last; wave += planes_) {
      for (int level = 1; level <= pass_.levels; ++level) {
        Box<3> box = region_of(level);
        const std::int64_t plane = wave - radius_ * (level - 1);
        box.lower[0] = std::max(box.lower[0], plane);
        box.upper[0] = std::min(box.upper[0], plane + planes_);
        if (!box.empty()) run_slab(level, box);
      }
    }
    if (pass_.streams) finish_streams();
  }

 private:
  // Of the cells that keep the source's values, only those are read that are near the others.
  Box<3> region_of(int level) const {
    Box<3> region = tile_.grown(radius_ * (pass_.levels - level));
    region = region.intersection(pass_.writable.grown(radius_));
    if (pass_.wraps) {
      region.lower[2] = tile_.lower[2];
      region.upper[2] = tile_.upper[2];
    }
    return region;
  }

  // Of the level's result; level 0 is the source.
  const double* value_at(int level, const Point<3>& at) const {
    return level == 0 ? pass_.source.at(at) : scratch_at(level, at);
  }
  double* scratch_at(int level, const Point<3>& at) const {
    const std::int64_t place = (at[0] - lower_[0]) % ring_ + ring_ * (level - 1);
    return values_ + place * plane_stride_ + (at[1] - lower_[1]) * row_stride_ + at[2] - lower_[2];
  }
  double* out_at(int level, const Point<3>& at) const {
    return level == pass_.levels ? pass_.target.at(at) : scratch_at(level, at);
  }

  void run_slab(int level, const Box<3>& all) const {
    const Box<3> inside = all.intersection(pass_.writable);
    if (inside != all) keep(level, all, inside);
    if (inside.empty()) return;
    const int stages = pass_.stencil->stages();
    pass_.stencil->run((level - 1) % stages, slab_of(level, inside));
  }

  // Copies the source's values to the cells of `all` that are not `inside`.
  void keep(int level, const Box<3>& all, const Box<3>& inside) const {
    if (inside.empty()) return copy(level, all);
    Box<3> rest = all;
    for (std::size_t d = 0; d < 3; ++d) {
      Box<3> lower = rest, upper = rest;
      lower.upper[d] = rest.lower[d] = inside.lower[d];
      upper.lower[d] = rest.upper[d] = inside.upper[d];
      copy(level, lower);
      copy(level, upper);
    }
  }
  void copy(int level, const Box<3>& box) const {
    if (box.empty()) return;
    const std::int64_t rows = box.extent(1), columns = box.extent(2);
    const std::ptrdiff_t stride = pass_.source.strides[1];
    for (Point<3> at = box.lower; at[0] < box.upper[0]; ++at[0]) {
      const double* const from = pass_.source.at(at);
      double* const to = scratch_at(level, at);
      // A call for each end of each computed row would cost as much as the row.
      for (std::int64_t i = 0; columns <= radius_ && i < columns; ++i) {
        for (std::int64_t r = 0; r < rows; ++r) to[r * row_stride_ + i] = from[r * stride + i];
      }
      for (std::int64_t r = 0; columns > radius_ && r < rows; ++r) {
        std::copy_n(from + r * stride, columns, to + r * row_stride_);
      }
    }
  }

  StencilSlab slab_of(int level, const Box<3>& box) const {
    const Stencil& stencil = *pass_.stencil;
    const bool is_last = level == pass_.levels;
    StencilSlab slab;
    slab.num_planes = static_cast<std::size_t>(box.extent(0));
    slab.num_rows = box.extent(1);
    slab.num_columns = box.extent(2);
    slab.source_stride = level == 1 ? pass_.source.strides[1] : row_stride_;
    slab.field_stride = pass_.source.strides[1];
    slab.out_stride = is_last ? pass_.target.strides[1] : row_stride_;
    Point<3> at = box.lower;
    for (std::size_t k = 0; k < slab.num_planes; ++k, ++at[0]) {
      slab.out[k] = out_at(level, at);
      if (stencil.has_coefficients()) slab.heat_source[k] = pass_.heat_source.at(at);
      if (stencil.reads_base((level - 1) % stencil.stages())) slab.base[k] = pass_.source.at(at);
    }
    at[0] = box.lower[0] - radius_;
    for (std::size_t k = 0; at[0] < box.upper[0] + radius_; ++k, ++at[0]) {
      slab.source[k] = value_at(level - 1, at);
      if (stencil.has_coefficients()) slab.conductivity[k] = pass_.conductivity.at(at);
    }
    slab.wraps = pass_.wraps;
    slab.streams = pass_.streams && is_last;
    // Later levels read what the first one has brought into the caches.
    slab.fetches = level == 1;
    slab.next = box.extent(0) * pass_.source.strides[0];
    return slab;
  }

  const SkewedPass& pass_;
  Box<3> tile_;
  std::int64_t radius_, planes_, ring_;  // planes_: of a slab
  std::int64_t rows_ = 0, row_stride_ = 0, plane_stride_ = 0;
  double* values_ = nullptr;  // [levels - 1, ring, rows, row_stride]
  Point<3> lower_{};
};

}  // namespace

void skewed_tile(const SkewedPass& pass, const Box<3>& tile, RawVector<double>& scratch) {
  SkewedTile(pass, tile, scratch).run();
}

}  // namespace tandem::tiling
