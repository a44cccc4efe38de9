// SPDX-License-Identifier: Apache-2.0
//
// Scratch has rings of planes, one for each level but the last.
#include "tensor/tiling/stencils/time_skew.h"

#include <algorithm>

#include "tensor/tiling/stencils/stencil_plane.h"

namespace tandem::tiling {
namespace {

class SkewedTile {
 public:
  SkewedTile(const SkewedPass& pass, const Box<3>& tile, RawVector<double>& scratch)
      : pass_(pass), tile_(tile), radius_(pass.stencil->radius()), ring_(2 * radius_ + 1) {
    const Box<3> widest = region_of(1);
    rows_ = widest.extent(1);
    // The tile's first column is at a cache line in every row, as in fields; rows are no multiple
    // of 4096 bytes apart.
    const std::int64_t before = tile.lower[2] - widest.lower[2], pad = (8 - before % 8) % 8;
    row_stride_ = (pad + widest.extent(2) + 7) / 8 * 8;
    if (row_stride_ % 512 == 0) row_stride_ += 8;
    const std::int64_t planes = ring_ * (pass.levels - 1);
    scratch.resize(
        std::max(scratch.size(), static_cast<std::size_t>(planes * rows_ * row_stride_ + 16)));
    const auto words = reinterpret_cast<std::uintptr_t>(scratch.data()) / sizeof(double);
    values_ = scratch.data() + (8 - words % 8) % 8 + pad;
    lower_ = widest.lower;
  }

  void run() {
    const std::int64_t first = region_of(1).lower[0],
                       last = tile_.upper[0] + radius_ * (pass_.levels - 1);
    for (std::int64_t wave = first; wave < last; ++wave) {
      for (int level = 1; level <= pass_.levels; ++level) {
        const std::int64_t plane = wave - radius_ * (level - 1);
        const Box<3> region = region_of(level);
        if (plane >= region.lower[0] && plane < region.upper[0]) run_plane(level, plane, region);
      }
    }
    if (pass_.streams) finish_streams();
  }

 private:
  Box<3> region_of(int level) const { return tile_.grown(radius_ * (pass_.levels - level)); }

  // Of the level's result; level 0 is the source.
  const double* value_at(int level, const Point<3>& at) const {
    return level == 0 ? pass_.source.at(at) : scratch_at(level, at);
  }
  double* scratch_at(int level, const Point<3>& at) const {
    const std::int64_t place = (at[0] - lower_[0]) % ring_ + ring_ * (level - 1);
    return values_ + (place * rows_ + at[1] - lower_[1]) * row_stride_ + at[2] - lower_[2];
  }
  double* out_at(int level, const Point<3>& at) const {
    return level == pass_.levels ? pass_.target.at(at) : scratch_at(level, at);
  }

  void run_plane(int level, std::int64_t plane, const Box<3>& region) const {
    const StencilPlane rows = plane_of(level, {plane, region.lower[1], region.lower[2]});
    const bool is_inside = plane >= pass_.writable.lower[0] && plane < pass_.writable.upper[0];
    for (std::int64_t row = region.lower[1]; row < region.upper[1]; ++row) {
      Point<3> at{plane, row, region.lower[2]};
      const bool is_written =
          is_inside && row >= pass_.writable.lower[1] && row < pass_.writable.upper[1];
      const std::int64_t first =
          is_written ? std::max(region.lower[2], pass_.writable.lower[2]) : region.upper[2];
      const std::int64_t last = std::min(region.upper[2], pass_.writable.upper[2]);
      keep(level, at, first - at[2]);
      if (!is_written) continue;
      pass_.stencil->run((level - 1) % pass_.stencil->stages(),
                         rows.row(row - region.lower[1], first - at[2], last - first));
      at[2] = last;
      keep(level, at, region.upper[2] - last);
    }
  }

  void keep(int level, const Point<3>& at, std::int64_t count) const {
    if (count > 0) std::copy_n(pass_.source.at(at), count, out_at(level, at));
  }

  StencilPlane plane_of(int level, const Point<3>& at) const {
    const Stencil& stencil = *pass_.stencil;
    StencilPlane plane(level == 1 ? pass_.source.strides[1] : row_stride_);
    for (std::int64_t k = 0; k < ring_; ++k) {
      plane.set_plane(static_cast<std::size_t>(k),
                      value_at(level - 1, {at[0] + k - radius_, at[1], at[2]}));
    }
    if (stencil.has_coefficients()) {
      plane.set_coefficients(pass_.conductivity, pass_.heat_source, at);
    }
    if (stencil.reads_base((level - 1) % stencil.stages())) {
      plane.set_base(pass_.source.at(at), pass_.source.strides[1]);
    }
    const bool is_last = level == pass_.levels;
    plane.set_out(out_at(level, at), is_last ? pass_.target.strides[1] : row_stride_);
    plane.set_streams(pass_.streams && is_last);
    // Later levels read what the first one has brought into the caches.
    if (level == 1) plane.fetch_ahead(static_cast<std::size_t>(ring_ - 1));
    return plane;
  }

  const SkewedPass& pass_;
  Box<3> tile_;
  std::int64_t radius_, ring_;
  std::int64_t rows_ = 0, row_stride_ = 0;
  double* values_ = nullptr;  // [levels - 1, ring, rows, row_stride]
  Point<3> lower_{};
};

}  // namespace

void skewed_tile(const SkewedPass& pass, const Box<3>& tile, RawVector<double>& scratch) {
  SkewedTile(pass, tile, scratch).run();
}

}  // namespace tandem::tiling
