// SPDX-License-Identifier: Apache-2.0
//
// A row is whole vectors, and single cells at its ends; both take the same operations.
#include "tensor/tiling/stencils/stencil_row.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/tiling/stencils/stencil_row.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::tiling {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Loads of cells first .. first + lanes of a row.
template <typename D>
struct CellLoads {
  std::size_t first;
  HWY_INLINE hn::Vec<D> operator()(const double* row) const { return hn::LoadU(D(), row + first); }
  HWY_INLINE hn::Vec<D> all(double value) const { return hn::Set(D(), value); }
};

// Where a row's results go, and what is fetched beside them.
template <std::size_t kFetched>
struct RowEnds {
  double* out = nullptr;
  std::size_t count = 0;
  bool streams = false;
  std::array<const double*, kFetched> fetched{};

  HWY_INLINE void fetch(std::size_t i) const {
    for (const double* row : fetched) hwy::Prefetch(row + i);
  }
};

// kFetched: 0, or as many as `row` names.
template <std::size_t kFetched>
RowEnds<kFetched> ends_of(const StencilRow& row) {
  RowEnds<kFetched> ends{row.out, row.count, row.streams, {}};
  std::copy_n(row.fetched.begin(), kFetched, ends.fetched.begin());
  return ends;
}

// cell(loads) -> the vector of results.
template <std::size_t kFetched, typename Cell>
HWY_INLINE void for_cells(const RowEnds<kFetched>& row, const Cell& cell) {
  double* const out = row.out;
  const std::size_t count = row.count;
  using One = hn::CappedTag<double, 1>;
  using Whole = hn::ScalableTag<double>;
  const std::size_t lanes = hn::Lanes(Whole());
  std::size_t i = 0;
  if (row.streams) {
    const auto words = reinterpret_cast<std::uintptr_t>(out) / sizeof(double);
    const std::size_t head = std::min<std::size_t>((lanes - words % lanes) % lanes, count);
    for (; i < head; ++i) hn::StoreU(cell(CellLoads<One>{i}), One(), out + i);
    for (; i + lanes <= count; i += lanes) {
      row.fetch(i);
      hn::Stream(cell(CellLoads<Whole>{i}), Whole(), out + i);
    }
  } else {
    for (; i + lanes <= count; i += lanes) {
      row.fetch(i);
      hn::StoreU(cell(CellLoads<Whole>{i}), Whole(), out + i);
    }
  }
  for (; i < count; ++i) hn::StoreU(cell(CellLoads<One>{i}), One(), out + i);
}

// Calls cells(ends) with the rows to fetch, if there are any.
template <std::size_t kFetched, typename Cells>
HWY_INLINE void with_ends(const StencilRow& row, const Cells& cells) {
  if (row.fetched[0] == nullptr) return cells(ends_of<0>(row));
  cells(ends_of<kFetched>(row));
}

// Loops take copies in registers: what they store could overwrite the row's own fields.
void heat(const StencilRow& row, double rate) {
  const double *const at = row.planes[1], *const below = row.planes[0],
                      *const above = row.planes[2];
  const std::ptrdiff_t up = row.row_stride;
  const double own = 1 - 6 * rate;
  const auto cell = [=](const auto& load) HWY_ATTR {
    const auto columns = hn::Add(load(at - 1), load(at + 1));
    const auto rows = hn::Add(load(at - up), load(at + up));
    const auto planes = hn::Add(load(below), load(above));
    const auto sum = hn::Add(hn::Add(columns, rows), planes);
    return hn::MulAdd(load.all(rate), sum, hn::Mul(load.all(own), load(at)));
  };
  with_ends<1>(row, [&](const auto& ends) HWY_ATTR { for_cells(ends, cell); });
}

void jacobi(const StencilRow& row) {
  const auto u = row.planes;
  const auto k = row.conductivity;
  const double* const f = row.heat_source;
  const std::ptrdiff_t up = row.row_stride, k_up = row.conductivity_stride;
  const auto cell = [=](const auto& load) HWY_ATTR {
    const auto own = load(k[1]), half = load.all(0.5);
    auto through = load(f), faces = load.all(0);
    const auto add = [&](const double* cells, const double* conductivity) HWY_ATTR {
      const auto face = hn::Mul(half, hn::Add(own, load(conductivity)));
      through = hn::MulAdd(face, load(cells), through);
      faces = hn::Add(faces, face);
    };
    add(u[1] - 1, k[1] - 1);
    add(u[1] + 1, k[1] + 1);
    add(u[1] - up, k[1] - k_up);
    add(u[1] + up, k[1] + k_up);
    add(u[0], k[0]);
    add(u[2], k[2]);
    return hn::Div(through, faces);
  };
  with_ends<3>(row, [&](const auto& ends) HWY_ATTR { for_cells(ends, cell); });
}

template <bool kHasBase>
void advect(const StencilRow& row, const AdvectionStage& stage) {
  const auto planes = row.planes;
  const double* const base = row.base;
  const std::ptrdiff_t up = row.row_stride;
  const AdvectionStage s = stage;
  const auto cell = [=](const auto& load) HWY_ATTR {
    const double* const at = planes[4];
    auto moved = load(at), along_rows = load.all(0), along_planes = load.all(0);
    const auto add = [&]<std::ptrdiff_t k>(std::integral_constant<std::ptrdiff_t, k>) HWY_ATTR {
      along_planes = hn::MulAdd(load.all(s.weights[0][k - 1]),
                                hn::Sub(load(planes[4 + k]), load(planes[4 - k])), along_planes);
      along_rows = hn::MulAdd(load.all(s.weights[1][k - 1]),
                              hn::Sub(load(at + k * up), load(at - k * up)), along_rows);
      moved = hn::MulAdd(load.all(s.weights[2][k - 1]), hn::Sub(load(at + k), load(at - k)), moved);
    };
    add(std::integral_constant<std::ptrdiff_t, 1>());
    add(std::integral_constant<std::ptrdiff_t, 2>());
    add(std::integral_constant<std::ptrdiff_t, 3>());
    add(std::integral_constant<std::ptrdiff_t, 4>());
    moved = hn::Add(hn::Add(along_planes, along_rows), moved);
    if constexpr (!kHasBase) return moved;
    return hn::MulAdd(load.all(s.of_base), load(base), hn::Mul(load.all(s.own), moved));
  };
  with_ends<kHasBase ? 2 : 1>(row, [&](const auto& ends) HWY_ATTR { for_cells(ends, cell); });
}

void advection(const StencilRow& row, const AdvectionStage& stage) {
  if (row.base == nullptr) return advect<false>(row, stage);
  advect<true>(row, stage);
}

void triad(const double* b, const double* c, double* a, std::size_t count, bool streams) {
  for_cells(RowEnds<0>{a, count, streams, {}},
            [&](const auto& load) HWY_ATTR { return hn::MulAdd(load.all(3), load(c), load(b)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::tiling
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::tiling {

HWY_EXPORT(heat);
HWY_EXPORT(jacobi);
HWY_EXPORT(advection);
HWY_EXPORT(triad);

void heat_row(const StencilRow& row, double rate) { HWY_DYNAMIC_DISPATCH(heat)(row, rate); }
void jacobi_row(const StencilRow& row) { HWY_DYNAMIC_DISPATCH(jacobi)(row); }
void advection_row(const StencilRow& row, const AdvectionStage& stage) {
  HWY_DYNAMIC_DISPATCH(advection)(row, stage);
}
void triad_row(const double* b, const double* c, double* a, std::size_t count, bool streams) {
  HWY_DYNAMIC_DISPATCH(triad)(b, c, a, count, streams);
}
void finish_streams() { hwy::FlushStream(); }

}  // namespace tandem::tiling
#endif
