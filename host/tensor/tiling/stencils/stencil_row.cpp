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

using One = hn::CappedTag<double, 1>;
using Whole = hn::ScalableTag<double>;

// Cells i .. i + lanes of kRows rows, with the neighbours before and behind each.
template <typename D, std::size_t kRows>
struct Beside {
  hn::Vec<D> before[kRows], own[kRows], behind[kRows];

  HWY_INLINE void load(const double* const (&rows)[kRows], std::size_t i) {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kRows; ++k) {
      before[k] = hn::LoadU(D(), rows[k] + i - 1);
      own[k] = hn::LoadU(D(), rows[k] + i);
      behind[k] = hn::LoadU(D(), rows[k] + i + 1);
    }
  }
};

// Such cells, one vector after another.
template <std::size_t kRows, bool kCarries>
class Walk {
 public:
  HWY_INLINE Walk(const double* const (&rows)[kRows], std::size_t) {
    for (std::size_t k = 0; k < kRows; ++k) rows_[k] = rows[k];
  }
  template <bool>
  HWY_INLINE const Beside<Whole, kRows>& at(std::size_t i) {
    cells_.load(rows_, i);
    return cells_;
  }
  HWY_INLINE void step() {}

 private:
  const double* rows_[kRows];
  Beside<Whole, kRows> cells_;
};

#if HWY_TARGET <= HWY_AVX3
// A vector is a cache line here, so a load of neighbours would read two. The vectors before and
// after have them; each is loaded once. Only the last does not look ahead, because another thread
// may write what is no neighbour.
template <std::size_t kRows>
class Walk<kRows, true> {
 public:
  HWY_INLINE Walk(const double* const (&rows)[kRows], std::size_t i) {
    cells_.load(rows, i);
    for (std::size_t k = 0; k < kRows; ++k) rows_[k] = rows[k];
  }
  template <bool kIsLast>
  HWY_INLINE const Beside<Whole, kRows>& at(std::size_t i) {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kRows; ++k) {
      if constexpr (kIsLast) {
        cells_.behind[k] = hn::LoadU(Whole(), rows_[k] + i + 1);
      } else {
        next_[k] = hn::LoadU(Whole(), rows_[k] + i + hn::MaxLanes(Whole()));
        cells_.behind[k] = shifted<1>(k);
      }
    }
    return cells_;
  }
  HWY_INLINE void step() {
#pragma GCC unroll 4
    for (std::size_t k = 0; k < kRows; ++k) {
      cells_.before[k] = shifted<7>(k);
      cells_.own[k] = next_[k];
    }
  }

 private:
  template <int kCells>
  HWY_INLINE hn::Vec<Whole> shifted(std::size_t k) const {
    return hn::Vec<Whole>{_mm512_castsi512_pd(_mm512_alignr_epi64(
        _mm512_castpd_si512(next_[k].raw), _mm512_castpd_si512(cells_.own[k].raw), kCells))};
  }
  const double* rows_[kRows];
  Beside<Whole, kRows> cells_;
  hn::Vec<Whole> next_[kRows];
};
#endif

template <bool kStreams>
HWY_INLINE void put(const hn::Vec<Whole>& value, double* out) {
  kStreams ? hn::Stream(value, Whole(), out) : hn::StoreU(value, Whole(), out);
}

// Whole vectors first .. end. cell(loads, cells of `along`) -> the vector of results.
template <bool kCarries, bool kStreams, std::size_t kFetched, std::size_t kAlong, typename Cell>
HWY_INLINE void for_vectors(const RowEnds<kFetched>& row, const double* const (&along)[kAlong],
                            const Cell& cell, std::size_t first, std::size_t end) {
  if (first == end) return;
  const std::size_t lanes = hn::Lanes(Whole());
  double* const out = row.out;
  Walk<kAlong, kCarries> walk(along, first);
  std::size_t i = first;
  for (; i + lanes < end; i += lanes) {
    row.fetch(i);
    put<kStreams>(cell(CellLoads<Whole>{i}, walk.template at<false>(i)), out + i);
    walk.step();
  }
  row.fetch(i);
  put<kStreams>(cell(CellLoads<Whole>{i}, walk.template at<true>(i)), out + i);
}

// kCarries pays where loads limit a loop, and not where memory does.
template <bool kCarries, std::size_t kFetched, std::size_t kAlong, typename Cell>
HWY_INLINE void for_cells(const RowEnds<kFetched>& row, const double* const (&along)[kAlong],
                          const Cell& cell) {
  const std::size_t lanes = hn::Lanes(Whole()), count = row.count;
  const auto one = [&](std::size_t i) HWY_ATTR {
    Beside<One, kAlong> cells;
    cells.load(along, i);
    hn::StoreU(cell(CellLoads<One>{i}, cells), One(), row.out + i);
  };
  const auto words = reinterpret_cast<std::uintptr_t>(row.out) / sizeof(double);
  const std::size_t first =
      row.streams ? std::min<std::size_t>((lanes - words % lanes) % lanes, count) : 0;
  const std::size_t end = first + (count - first) / lanes * lanes;
  for (std::size_t i = 0; i < first; ++i) one(i);
  row.streams ? for_vectors<kCarries, true>(row, along, cell, first, end)
              : for_vectors<kCarries, false>(row, along, cell, first, end);
  for (std::size_t i = end; i < count; ++i) one(i);
}

// Calls cells(ends) with the rows to fetch, if there are any: kFetched, and kHalo more.
template <std::size_t kFetched, std::size_t kHalo, typename Cells>
HWY_INLINE void with_ends(const StencilRow& row, const Cells& cells) {
  if (row.fetched[0] == nullptr) return cells(ends_of<0>(row));
  if (row.fetched[kFetched] == nullptr) return cells(ends_of<kFetched>(row));
  cells(ends_of<kFetched + kHalo>(row));
}

// Loops take copies in registers: what they store could overwrite the row's own fields.
void heat(const StencilRow& row, double rate, double own) {
  const double *const at = row.planes[1], *const below = row.planes[0],
                      *const above = row.planes[2];
  const std::ptrdiff_t up = row.row_stride;
  const double* const along[] = {at};
  const auto cell = [=](const auto& load, const auto& cells) HWY_ATTR {
    const auto columns = hn::Add(cells.before[0], cells.behind[0]);
    const auto rows = hn::Add(load(at - up), load(at + up));
    const auto planes = hn::Add(load(below), load(above));
    const auto sum = hn::Add(hn::Add(columns, rows), planes);
    return hn::MulAdd(load.all(rate), sum, hn::Mul(load.all(own), cells.own[0]));
  };
  with_ends<StencilRow::kHeatFetched, 1>(
      row, [&](const auto& ends) HWY_ATTR { for_cells<false>(ends, along, cell); });
}

// Both sums are twice those of the definition: a face has the sum of two conductivities, not their
// mean. Doubling is exact, so the quotient has the same bits, with six multiplications less. (Sums
// would have to leave the range of normal numbers, 1e-308 to 1e308, for other bits.)
void jacobi(const StencilRow& row) {
  const auto u = row.planes;
  const auto k = row.conductivity;
  const double* const f = row.heat_source;
  const std::ptrdiff_t up = row.row_stride, k_up = row.conductivity_stride;
  const double* const along[] = {u[1], k[1]};
  const auto cell = [=](const auto& load, const auto& cells) HWY_ATTR {
    const auto own = cells.own[1], source = load(f);
    auto faces = hn::Add(own, cells.before[1]);
    auto through = hn::MulAdd(faces, cells.before[0], hn::Add(source, source));
    const auto add = [&](const auto& neighbour, const auto& conductivity) HWY_ATTR {
      const auto face = hn::Add(own, conductivity);
      through = hn::MulAdd(face, neighbour, through);
      faces = hn::Add(faces, face);
    };
    add(cells.behind[0], cells.behind[1]);
    add(load(u[1] - up), load(k[1] - k_up));
    add(load(u[1] + up), load(k[1] + k_up));
    add(load(u[0]), load(k[0]));
    add(load(u[2]), load(k[2]));
    return hn::Div(through, faces);
  };
  with_ends<StencilRow::kJacobiFetched, 2>(
      row, [&](const auto& ends) HWY_ATTR { for_cells<true>(ends, along, cell); });
}

// The triad and the copy need no neighbours.
template <typename Cell>
HWY_INLINE void for_values(double* a, std::size_t count, bool streams, const Cell& cell) {
  const std::size_t lanes = hn::Lanes(Whole());
  const auto words = reinterpret_cast<std::uintptr_t>(a) / sizeof(double);
  std::size_t i = 0;
  if (streams) {
    const std::size_t head = std::min<std::size_t>((lanes - words % lanes) % lanes, count);
    for (; i < head; ++i) hn::StoreU(cell(CellLoads<One>{i}), One(), a + i);
    for (; i + lanes <= count; i += lanes) put<true>(cell(CellLoads<Whole>{i}), a + i);
  }
  for (; i + lanes <= count; i += lanes) put<false>(cell(CellLoads<Whole>{i}), a + i);
  for (; i < count; ++i) hn::StoreU(cell(CellLoads<One>{i}), One(), a + i);
}

void triad(const double* b, const double* c, double* a, std::size_t count, bool streams) {
  for_values(a, count, streams,
             [&](const auto& load) HWY_ATTR { return hn::MulAdd(load.all(3), load(c), load(b)); });
}

void copy(const double* b, double* a, std::size_t count, bool streams) {
  for_values(a, count, streams, [&](const auto& load) HWY_ATTR { return load(b); });
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
