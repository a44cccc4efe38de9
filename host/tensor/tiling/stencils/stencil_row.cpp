// SPDX-License-Identifier: Apache-2.0
//
// A row is whole vectors, and single cells at its ends; both take the same operations.
#include "tensor/tiling/stencils/stencil_row.h"

#include <algorithm>
#include <array>
#include <cstdint>

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
    // Into the second cache: what waits for memory holds few of the first cache's requests then.
    for (const double* row : fetched) __builtin_prefetch(row + i, 0, 2);
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
void heat(const StencilRow& row, double rate, double own) {
  const double *const at = row.planes[1], *const below = row.planes[0],
                      *const above = row.planes[2];
  const std::ptrdiff_t up = row.row_stride;
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

void triad(const double* b, const double* c, double* a, std::size_t count, bool streams) {
  for_cells(RowEnds<0>{a, count, streams, {}},
            [&](const auto& load) HWY_ATTR { return hn::MulAdd(load.all(3), load(c), load(b)); });
}

void copy(const double* b, double* a, std::size_t count, bool streams) {
  for_cells(RowEnds<0>{a, count, streams, {}}, [&](const auto& load) HWY_ATTR { return load(b); });
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::tiling
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::tiling {

HWY_EXPORT(heat);
HWY_EXPORT(jacobi);
HWY_EXPORT(triad);
HWY_EXPORT(copy);

void heat_row(const StencilRow& row, double rate, double own) {
  HWY_DYNAMIC_DISPATCH(heat)(row, rate, own);
}
void jacobi_row(const StencilRow& row) { HWY_DYNAMIC_DISPATCH(jacobi)(row); }
void triad_row(const double* b, const double* c, double* a, std::size_t count, bool streams) {
  HWY_DYNAMIC_DISPATCH(triad)(b, c, a, count, streams);
}
void copy_row(const double* b, double* a, std::size_t count, bool streams) {
  HWY_DYNAMIC_DISPATCH(copy)(b, a, count, streams);
}
void finish_streams() { hwy::FlushStream(); }

}  // namespace tandem::tiling
#endif
