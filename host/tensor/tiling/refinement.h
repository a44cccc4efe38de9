// SPDX-License-Identifier: Apache-2.0
//
// One level of refinement: values between a coarse field and a fine one over a part of its domain.
//
// The fine layout's domain is a box of refined coarse cells. interpolate() fills fine cells, ghost
// cells included, from coarse ones: linearly in every dimension, so a linear function is kept
// exactly up to rounding. It reads one coarse cell around those that the fine cells lie in.
// average() gives each covered coarse cell the mean of its fine cells; all else stays. Values of
// other ranks come by a copy between layouts. Results do not depend on boxes, ranks and threads.
// Threads: one caller per rank; all ranks make the same calls. Errors: Error for a ratio below 1
// and fine boxes that do not end at coarse cells, and those of the courier. Source: AMReX, "Mesh
// Refinement" (semantics).
#pragma once

#include <memory>

#include "common/error.h"
#include "tensor/tiling/copy_run.h"

namespace tandem::tiling {

namespace refine {

template <std::size_t kDims>
Layout<kDims> coarse_layout(const Layout<kDims>& fine, std::int64_t ratio, std::int64_t ghosts) {
  if (ratio < 1) throw Error("tiling", "a coarse cell has at least one fine cell a side");
  Layout<kDims> coarse = fine;
  coarse.domain = fine.domain.coarsened(ratio);
  for (Box<kDims>& box : coarse.boxes) {
    if (box.coarsened(ratio).refined(ratio) != box) {
      throw Error("tiling", "a fine box does not end at coarse cells; cut it at multiples of " +
                                std::to_string(ratio));
    }
    box = box.grown(ghosts).coarsened(ratio);
  }
  return coarse;
}

inline std::int64_t floor_of(std::int64_t value, std::int64_t ratio) {
  return value / ratio - (value % ratio < 0 ? 1 : 0);
}

// Calls visit(point) with every point of a box.
template <std::size_t kDims, typename Visit>
void for_points(const Box<kDims>& box, const Visit& visit) {
  for_rows(box, [&](const Point<kDims>& first) {
    for (Point<kDims> at = first; at[kDims - 1] < box.upper[kDims - 1]; ++at[kDims - 1]) visit(at);
  });
}

// The value of a fine cell: the product over dimensions of weights of the two nearest coarse cells.
template <typename Value, std::size_t kDims>
Value at_fine(const FieldView<const Value, kDims>& coarse, const Point<kDims>& fine,
              std::int64_t ratio) {
  Value sum = 0;
  for (std::size_t corner = 0; corner < std::size_t{1} << kDims; ++corner) {
    Value weight = 1;
    Point<kDims> at{};
    for (std::size_t d = 0; d < kDims; ++d) {
      at[d] = floor_of(fine[d], ratio);
      // Distance of the cells' centres, in coarse cells: -1/2 .. 1/2.
      const Value distance =
          (static_cast<Value>(fine[d] - at[d] * ratio) + Value(0.5)) / static_cast<Value>(ratio) -
          Value(0.5);
      const Value part = distance < 0 ? -distance : distance;
      const bool is_far = (corner >> d & 1) != 0;
      weight *= is_far ? part : 1 - part;
      if (is_far) at[d] += distance < 0 ? -1 : 1;
    }
    if (weight != 0) sum += weight * *coarse.at(at);
  }
  return sum;
}

}  // namespace refine

// Between two layouts with as many ranks. Make it once and keep it with them.
template <typename Value, std::size_t kDims>
class Refinement {
 public:
  // ratio: fine cells of a coarse one in each dimension. ghosts: the most of a fine field, filled
  // too. pool must outlive it; courier too: null for one rank.
  Refinement(const Layout<kDims>& coarse, const Layout<kDims>& fine, std::int64_t ratio,
             std::int64_t ghosts, Courier* courier, ThreadPool& pool)
      : ratio_(ratio),
        ghosts_(ghosts),
        courier_(courier),
        pool_(pool),
        around_(std::make_shared<Layout<kDims>>(grown(refine::coarse_layout(fine, ratio, ghosts))),
                rank_of(courier), 0),
        means_(std::make_shared<Layout<kDims>>(refine::coarse_layout(fine, ratio, 0)),
               rank_of(courier), 0),
        down_(copy_plan(means_.layout(), coarse, rank_of(courier))),
        up_(copy_plan(coarse, around_.layout(), rank_of(courier))) {
    for (const Box<kDims>& box : means_.layout().boxes) {
      if (!coarse.domain.contains(box))
        throw Error("tiling", "a fine box leaves the coarse domain");
    }
  }

  // Coarse cells outside of the coarse domain count as `outside`; its ghost cells are not read.
  void interpolate(const Field<Value, kDims>& coarse, Field<Value, kDims>& fine, Value outside) {
    TANDEM_CHECK_OP(fine.ghosts(), <=, ghosts_);
    for (std::size_t local = 0; local < around_.num_boxes(); ++local) {
      const auto view = around_.view(local);
      refine::for_points(around_.box(local),
                         [&](const Point<kDims>& at) { *view.at(at) = outside; });
    }
    FieldCopy<Value, kDims>(coarse, around_, up_, courier_, pool_).finish();
    pool_.run(fine.num_boxes(), [&](std::size_t local) {
      const Field<Value, kDims>& around = around_;
      const FieldView<const Value, kDims> from = around.view(local);
      const FieldView<Value, kDims> to = fine.view(local);
      refine::for_points(fine.box(local).grown(fine.ghosts()), [&](const Point<kDims>& at) {
        *to.at(at) = refine::at_fine(from, at, ratio_);
      });
    });
  }

  void average(const Field<Value, kDims>& fine, Field<Value, kDims>& coarse) {
    Value cells = 1;
    for (std::size_t d = 0; d < kDims; ++d) cells *= static_cast<Value>(ratio_);
    pool_.run(fine.num_boxes(), [&](std::size_t local) {
      const FieldView<const Value, kDims> from = fine.view(local);
      const FieldView<Value, kDims> to = means_.view(local);
      refine::for_points(means_.box(local), [&](const Point<kDims>& at) {
        Box<kDims> cell{at, at};
        for (std::size_t d = 0; d < kDims; ++d) ++cell.upper[d];
        Value sum = 0;
        refine::for_points(cell.refined(ratio_),
                           [&](const Point<kDims>& each) { sum += *from.at(each); });
        *to.at(at) = sum / cells;
      });
    });
    FieldCopy<Value, kDims>(means_, coarse, down_, courier_, pool_).finish();
  }

 private:
  static int rank_of(const Courier* courier) { return courier == nullptr ? 0 : courier->rank(); }

  static Layout<kDims> grown(Layout<kDims> layout) {
    for (Box<kDims>& box : layout.boxes) box = box.grown(1);
    return layout;
  }

  std::int64_t ratio_, ghosts_;
  Courier* courier_;
  ThreadPool& pool_;
  Field<Value, kDims> around_, means_;  // coarse cells of the fine boxes, on their ranks
  CopyPlan<kDims> down_, up_;
};

}  // namespace tandem::tiling
