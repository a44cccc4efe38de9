// SPDX-License-Identifier: Apache-2.0
//
// Field: the values of a layout's boxes that one rank owns, each box with ghost cells around it.
//
// Every box has its own allocation (a region of TiDA). Rows are contiguous along the last
// dimension. Each row starts at a multiple of 64 bytes; the distances of rows and of planes are
// multiples of 64 bytes but never of 4096. Values are uninitialised: the first writer decides their
// NUMA node (tile_schedule.h). Ownership: the field owns its values; a view must not outlive it.
// Threads: any on different points. Source: see box.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/huge_pages.h"
#include "common/raw_vector.h"
#include "tensor/tiling/layout.h"

namespace tandem::tiling {

// A plane's stride, in values of which `line` are a cache line, at least `stride`: a few lines more
// than a multiple of 4096 bytes. So the same cells of some planes fall into different sets of the
// first cache, which 4096 bytes apart share one.
constexpr std::int64_t spread_stride(std::int64_t stride, std::int64_t line) {
  constexpr std::int64_t kPageLines = 64, kLines = 5;
  return stride + (kLines + kPageLines - stride / line % kPageLines) % kPageLines * line;
}

// A view of values in an index space; at() accepts points of the box and of its ghost cells.
template <typename Value, std::size_t kDims>
struct FieldView {
  Value* first = nullptr;  // the value at `lower`
  Point<kDims> lower{};
  Point<kDims> strides{};  // in values; that of the last dimension is 1

  Value* at(const Point<kDims>& point) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < kDims; ++d) offset += (point[d] - lower[d]) * strides[d];
    return first + offset;
  }
};

// Calls visit(point) with the first point of every row of a box, in order.
template <std::size_t kDims, typename Visit>
void for_rows(const Box<kDims>& box, const Visit& visit) {
  if (box.empty()) return;
  Point<kDims> at = box.lower;
  for (;;) {
    visit(static_cast<const Point<kDims>&>(at));
    std::size_t d = kDims - 1;
    while (d > 0) {
      --d;
      if (++at[d] < box.upper[d]) break;
      at[d] = box.lower[d];
      if (d == 0) return;
    }
    if (kDims == 1) return;
  }
}

template <typename Value, std::size_t kDims>
class Field {
 public:
  // ghosts: the number of ghost cells at every face of a box.
  Field(std::shared_ptr<const Layout<kDims>> layout, int rank, std::int64_t ghosts)
      : layout_(std::move(layout)), rank_(rank), ghosts_(ghosts), local_(layout_->boxes_of(rank)) {
    for (const std::size_t box : local_) allocate(layout_->boxes[box].grown(ghosts));
  }

  const Layout<kDims>& layout() const { return *layout_; }
  int rank() const { return rank_; }
  std::int64_t ghosts() const { return ghosts_; }

  // The boxes of this rank are local boxes 0 .. num_boxes() - 1, in the layout's order.
  std::size_t num_boxes() const { return local_.size(); }
  std::size_t number(std::size_t local) const { return local_[local]; }  // in the layout
  const Box<kDims>& box(std::size_t local) const { return layout_->boxes[local_[local]]; }

  FieldView<Value, kDims> view(std::size_t local) { return views_[local]; }
  FieldView<const Value, kDims> view(std::size_t local) const {
    const FieldView<Value, kDims>& view = views_[local];
    return {view.first, view.lower, view.strides};
  }

  void swap(Field& other) noexcept {
    std::swap(values_, other.values_);
    std::swap(views_, other.views_);
  }

 private:
  static constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(Value));

  static std::int64_t rounded(std::int64_t values) { return (values + kLine - 1) / kLine * kLine; }

  void allocate(const Box<kDims>& all) {
    const std::int64_t before = rounded(ghosts_);  // aligns the first cell that is not a ghost cell
    FieldView<Value, kDims> view;
    view.lower = all.lower;
    std::int64_t stride = 1;
    for (std::size_t d = kDims; d-- > 0;) {
      view.strides[d] = stride;
      if (d == kDims - 1) {
        stride = rounded(before + all.extent(d) - ghosts_);
        if (stride * static_cast<std::int64_t>(sizeof(Value)) % 4096 == 0) stride += kLine;
      } else {
        stride *= all.extent(d);
        // The planes' equal cells fall into different sets of the caches.
        if (d > 0) stride = spread_stride(stride, kLine);
      }
    }
    values_.emplace_back(static_cast<std::size_t>(stride + 2 * kLine));
    advise_huge_pages(values_.back().data(), values_.back().size() * sizeof(Value));
    const auto address = reinterpret_cast<std::uintptr_t>(values_.back().data());
    const std::size_t to_line = (64 - address % 64) % 64 / sizeof(Value);
    view.first = values_.back().data() + to_line + (before - ghosts_);
    views_.push_back(view);
  }

  std::shared_ptr<const Layout<kDims>> layout_;
  int rank_;
  std::int64_t ghosts_;
  std::vector<std::size_t> local_;
  std::vector<RawVector<Value>> values_;        // [num_boxes]
  std::vector<FieldView<Value, kDims>> views_;  // [num_boxes]
};

}  // namespace tandem::tiling
