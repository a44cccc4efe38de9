// SPDX-License-Identifier: Apache-2.0
//
// StencilPlane: the rows of one plane of a tile, without index arithmetic per cell.
//
// The caller sets the row at the plane's first corner and the distances between rows. row() moves
// it. fetches: rows that memory delivers first are requested kRowsAhead rows before they are used.
// Plain values. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/tiling/field.h"
#include "tensor/tiling/stencils/stencil_row.h"

namespace tandem::tiling {

class StencilPlane {
 public:
  // value_stride: values between the source's rows.
  explicit StencilPlane(std::ptrdiff_t value_stride) { first_.row_stride = value_stride; }

  // planes: 2 * radius + 1 of the source; set each before row().
  void set_plane(std::size_t k, const double* cells) { first_.planes[k] = cells; }
  void set_out(double* cells, std::ptrdiff_t stride) {
    first_.out = cells;
    out_stride_ = stride;
  }
  void set_base(const double* cells, std::ptrdiff_t stride) {
    first_.base = cells;
    base_stride_ = stride;
  }
  void set_coefficients(const FieldView<const double, 3>& conductivity,
                        const FieldView<const double, 3>& heat_source, const Point<3>& at) {
    for (std::ptrdiff_t k = 0; k < 3; ++k) {
      first_.conductivity[static_cast<std::size_t>(k)] =
          conductivity.at(at) + (k - 1) * conductivity.strides[0];
    }
    first_.conductivity_stride = conductivity.strides[1];
    first_.heat_source = heat_source.at(at);
    heat_stride_ = heat_source.strides[1];
  }
  void set_streams(bool streams) { first_.streams = streams; }
  // last: index of the source's plane that no earlier row has read.
  void fetch_ahead(std::size_t last) {
    fetches_ = true;
    last_ = last;
  }

  // `count` cells from row `rows` and column `columns` of the plane.
  StencilRow row(std::int64_t rows, std::int64_t columns, std::int64_t count) const {
    StencilRow row = first_;
    const std::ptrdiff_t moved = rows * first_.row_stride + columns;
    for (const double*& plane : row.planes) plane = plane == nullptr ? plane : plane + moved;
    row.out += rows * out_stride_ + columns;
    if (row.base != nullptr) row.base += rows * base_stride_ + columns;
    if (row.heat_source != nullptr) {
      for (const double*& plane : row.conductivity) {
        plane += rows * first_.conductivity_stride + columns;
      }
      row.heat_source += rows * heat_stride_ + columns;
    }
    row.count = static_cast<std::size_t>(count);
    if (fetches_) set_fetched(row);
    return row;
  }

 private:
  static constexpr std::ptrdiff_t kRowsAhead = 2;

  void set_fetched(StencilRow& row) const {
    row.fetched[0] = row.planes[last_] + kRowsAhead * row.row_stride;
    if (row.base != nullptr) row.fetched[1] = row.base + kRowsAhead * base_stride_;
    if (row.heat_source == nullptr) return;
    row.fetched[1] = row.conductivity[2] + kRowsAhead * row.conductivity_stride;
    row.fetched[2] = row.heat_source + kRowsAhead * heat_stride_;
  }

  StencilRow first_;
  std::ptrdiff_t out_stride_ = 0, base_stride_ = 0, heat_stride_ = 0;
  bool fetches_ = false;
  std::size_t last_ = 0;
};

}  // namespace tandem::tiling
