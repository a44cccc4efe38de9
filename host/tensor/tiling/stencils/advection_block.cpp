// SPDX-License-Identifier: Apache-2.0
//
// Whole vectors of columns, and single columns at the end; both take the same operations.
#include "tensor/tiling/stencils/advection_block.h"

#include <algorithm>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/tiling/stencils/advection_block.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::tiling {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Pointers of a block, copied: what a loop stores could overwrite those of a slab.
template <std::size_t kPlanes>
struct AdvectionRows {
  std::array<const double*, kPlanes + 8> source;
  std::array<const double*, kPlanes> base, halo;
  std::array<std::array<const double*, kPlanes>, 2> fetched, fetched_base;
  std::array<double*, kPlanes> out;
  std::ptrdiff_t source_stride, out_stride, field_stride;
  std::size_t count;
  bool wraps;
};

template <std::size_t kPlanes, std::size_t kRows>
AdvectionRows<kPlanes> rows_of(const StencilSlab& slab, std::size_t plane, std::int64_t row) {
  AdvectionRows<kPlanes> rows;
  rows.source_stride = slab.source_stride;
  rows.out_stride = slab.out_stride;
  rows.field_stride = slab.field_stride;
  rows.count = static_cast<std::size_t>(slab.num_columns);
  rows.wraps = slab.wraps;
  for (std::size_t k = 0; k < kPlanes + 8; ++k) {
    rows.source[k] = slab.source[plane + k] + row * slab.source_stride;
  }
  for (std::size_t k = 0; k < kPlanes; ++k) {
    const double* const base = slab.base[plane + k];
    rows.base[k] = base == nullptr ? nullptr : base + row * slab.field_stride;
    rows.out[k] = slab.out[plane + k] + row * slab.out_stride;
    const std::int64_t halo = slab.halo_row(row, 4, kRows);
    rows.halo[k] = halo == row ? nullptr : slab.source[plane + k + 8] + halo * slab.source_stride;
    for (std::size_t again = 0; again < 2; ++again) {
      rows.fetched[again][k] =
          slab.source[plane + k + 8] + slab.fetched_row(row, slab.source_stride, again == 1);
      rows.fetched_base[again][k] =
          base == nullptr ? nullptr : base + slab.fetched_row(row, slab.field_stride, again == 1);
    }
  }
  return rows;
}

// The sum over distances; lower and upper neighbours lie at -distance and +distance of `at`.
template <typename V, typename Neighbour>
HWY_INLINE V differences(const V (&weights)[4], const Neighbour& at) {
  V sum = hn::Mul(weights[0], hn::Sub(at(1), at(-1)));
  sum = hn::MulAdd(weights[1], hn::Sub(at(2), at(-2)), sum);
  sum = hn::MulAdd(weights[2], hn::Sub(at(3), at(-3)), sum);
  return hn::MulAdd(weights[3], hn::Sub(at(4), at(-4)), sum);
}

using Whole = hn::ScalableTag<double>;
using One = hn::CappedTag<double, 1>;

// The neighbours along a row of the cells at `here`, by distance.
template <typename D>
class ColumnValues {
 public:
  explicit HWY_INLINE ColumnValues(const double* here) : here_(here) {}
  HWY_INLINE hn::Vec<D> operator()(int distance) const { return hn::LoadU(D(), here_ + distance); }

 private:
  const double* here_;
};

#if HWY_TARGET <= HWY_AVX3
// A vector is a cache line here, so loads at most distances would read two. Shifts of two vectors,
// cells -4 .. 3 and 4 .. 11, replace them.
template <>
class ColumnValues<Whole> {
 public:
  using V = hn::Vec<Whole>;
  explicit HWY_INLINE ColumnValues(const double* here)
      : lower_(hn::LoadU(Whole(), here - 4)), upper_(hn::LoadU(Whole(), here + 4)) {}
  HWY_INLINE V operator()(int distance) const {
    switch (distance) {
      case -4:
        return lower_;
      case -3:
        return shifted<1>();
      case -2:
        return shifted<2>();
      case -1:
        return shifted<3>();
      case 1:
        return shifted<5>();
      case 2:
        return shifted<6>();
      case 3:
        return shifted<7>();
      default:
        return upper_;
    }
  }

 private:
  template <int kCells>
  HWY_INLINE V shifted() const {
    return V{_mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(upper_.raw),
                                                     _mm512_castpd_si512(lower_.raw), kCells))};
  }
  V lower_, upper_;
};
#endif

// Cells i - 4 .. i + lanes + 3 of a row that is a period of `count` cells.
template <typename D>
class Period {
 public:
  HWY_INLINE Period(const double* row, std::size_t i, std::size_t count) {
    for (std::size_t k = 0; k < hn::MaxLanes(D()) + 8; ++k)
      cells_[k] = row[(i + count - 4 + k) % count];
  }
  HWY_INLINE const double* here() const { return cells_ + 4; }

 private:
  double cells_[hn::MaxLanes(D()) + 8];
};

template <typename D, std::size_t kPlanes, std::size_t kRows, bool kHasBase, bool kStreams>
class AdvectionCells {
 public:
  using V = hn::Vec<D>;

  HWY_INLINE AdvectionCells(const AdvectionRows<kPlanes>& rows, const AdvectionStage& stage)
      : rows_(rows), stage_(stage) {
    for (std::size_t k = 0; k < 4; ++k) weights_[k] = hn::Set(D(), stage.derivative[k]);
  }

  // kAtEnd: of a period, so that some neighbours lie at the row's other end.
  template <bool kAtEnd = false>
  HWY_INLINE void run(std::size_t i) const {
    V moved[kPlanes][kRows];
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kRows; ++r) along_planes(i, r, moved);
#pragma GCC unroll 16
    for (std::size_t p = 0; p < kPlanes; ++p) along_rows(i, p, moved);
#pragma GCC unroll 16
    for (std::size_t p = 0; p < kPlanes; ++p) {
#pragma GCC unroll 16
      for (std::size_t r = 0; r < kRows; ++r) {
        const double* const here = at(p + 4, static_cast<std::ptrdiff_t>(r), i);
        if constexpr (kAtEnd) {
          const Period<D> period(here - i, i, rows_.count);
          along_columns(i, p, r, ColumnValues<D>(period.here()), moved[p][r]);
        } else {
          along_columns(i, p, r, ColumnValues<D>(here), moved[p][r]);
        }
      }
    }
  }

  HWY_INLINE void fetch(std::size_t i) const {
#pragma GCC unroll 16
    for (std::size_t p = 0; p < kPlanes; ++p) {
      if (rows_.halo[p] != nullptr) fetch_rows(rows_.halo[p] + i, rows_.source_stride);
#pragma GCC unroll 16
      for (std::size_t again = 0; again < 2; ++again) {
        fetch_rows(rows_.fetched[again][p] + i, rows_.source_stride);
        if constexpr (kHasBase) {
          fetch_rows(rows_.fetched_base[again][p] + i, rows_.field_stride);
        }
      }
    }
  }

 private:
  HWY_INLINE static void fetch_rows(const double* from, std::ptrdiff_t stride) {
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kRows; ++r) {
      __builtin_prefetch(from + static_cast<std::ptrdiff_t>(r) * stride, 0, 2);
    }
  }
  HWY_INLINE const double* at(std::size_t plane, std::ptrdiff_t row, std::size_t i) const {
    return rows_.source[plane] + row * rows_.source_stride + i;
  }

  HWY_INLINE void along_planes(std::size_t i, std::size_t r, V (&moved)[kPlanes][kRows]) const {
    V values[kPlanes + 8];
#pragma GCC unroll 16
    for (std::size_t k = 0; k < kPlanes + 8; ++k) {
      values[k] = hn::LoadU(D(), at(k, static_cast<std::ptrdiff_t>(r), i));
    }
    const V courant = hn::Set(D(), stage_.courant[0]);
#pragma GCC unroll 16
    for (std::size_t p = 0; p < kPlanes; ++p) {
      const auto near = [&](int distance) HWY_ATTR {
        return values[static_cast<std::size_t>(static_cast<int>(p) + 4 + distance)];
      };
      moved[p][r] = hn::MulAdd(courant, differences(weights_, near), values[p + 4]);
    }
  }

  HWY_INLINE void along_rows(std::size_t i, std::size_t p, V (&moved)[kPlanes][kRows]) const {
    V values[kRows + 8];
#pragma GCC unroll 16
    for (std::size_t k = 0; k < kRows + 8; ++k) {
      values[k] = hn::LoadU(D(), at(p + 4, static_cast<std::ptrdiff_t>(k) - 4, i));
    }
    const V courant = hn::Set(D(), stage_.courant[1]);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto near = [&](int distance) HWY_ATTR {
        return values[static_cast<std::size_t>(static_cast<int>(r) + 4 + distance)];
      };
      moved[p][r] = hn::MulAdd(courant, differences(weights_, near), moved[p][r]);
    }
  }

  HWY_INLINE void along_columns(std::size_t i, std::size_t p, std::size_t r,
                                const ColumnValues<D>& near, V moved) const {
    const auto row = static_cast<std::ptrdiff_t>(r);
    V value = hn::MulAdd(hn::Set(D(), stage_.courant[2]), differences(weights_, near), moved);
    if constexpr (kHasBase) {
      const V base = hn::LoadU(D(), rows_.base[p] + row * rows_.field_stride + i);
      value =
          hn::MulAdd(hn::Set(D(), stage_.of_base), base, hn::Mul(hn::Set(D(), stage_.own), value));
    }
    double* const out = rows_.out[p] + row * rows_.out_stride + i;
    if constexpr (kStreams) {
      hn::Stream(value, D(), out);
    } else {
      hn::StoreU(value, D(), out);
    }
  }

  AdvectionRows<kPlanes> rows_;
  AdvectionStage stage_;
  V weights_[4];  // std::array has a constructor that is not compiled for this instruction set
};

// Whether whole vectors may be streamed to every row from column i on.
template <std::size_t kPlanes>
bool is_aligned(const AdvectionRows<kPlanes>& rows) {
  std::uintptr_t bits = static_cast<std::uintptr_t>(rows.out_stride) * sizeof(double);
  for (double* const out : rows.out) bits |= reinterpret_cast<std::uintptr_t>(out);
  return bits % (hn::Lanes(Whole()) * sizeof(double)) == 0;
}

template <std::size_t kPlanes, std::size_t kRows, bool kHasBase, bool kStreams>
void advect(const AdvectionRows<kPlanes>& rows, const StencilSlab& slab,
            const AdvectionStage& stage) {
  const AdvectionCells<Whole, kPlanes, kRows, kHasBase, kStreams> cells(rows, stage);
  const AdvectionCells<One, kPlanes, kRows, kHasBase, false> ends(rows, stage);
  const std::size_t lanes = hn::Lanes(Whole()), count = rows.count;
  const std::size_t last = count / lanes * lanes;  // of whole vectors
  // Of a period, what is not near its ends takes the loop without a look. Whole vectors that are as
  // long as a cell's neighbours are far: two of them where a vector has two lanes.
  const std::size_t near = rows.wraps ? std::min((4 + lanes - 1) / lanes * lanes, last) : 0;
  const std::size_t begin = near, end = std::max(begin, last - near);
  for (std::size_t i = 0; i < begin; i += lanes) cells.template run<true>(i);
  std::size_t i = begin;
  if (slab.fetches) {
    for (; i < end; i += lanes) {
      cells.fetch(i);
      cells.run(i);
    }
  }
  for (; i < end; i += lanes) cells.run(i);
  for (; i < last; i += lanes) cells.template run<true>(i);
  for (; i < count; ++i) rows.wraps ? ends.template run<true>(i) : ends.run(i);
}

template <std::size_t kPlanes, std::size_t kRows>
void advect_rows(const StencilSlab& slab, std::size_t plane, std::int64_t row,
                 const AdvectionStage& stage) {
  const AdvectionRows<kPlanes> rows = rows_of<kPlanes, kRows>(slab, plane, row);
  const bool has_base = rows.base[0] != nullptr;
  if (slab.streams && is_aligned(rows)) {
    if (has_base) return advect<kPlanes, kRows, true, true>(rows, slab, stage);
    return advect<kPlanes, kRows, false, true>(rows, slab, stage);
  }
  if (has_base) return advect<kPlanes, kRows, true, false>(rows, slab, stage);
  advect<kPlanes, kRows, false, false>(rows, slab, stage);
}

void advection(const StencilSlab& slab, std::int64_t first, std::int64_t count,
               const AdvectionStage& stage) {
  if (slab.num_planes == kMostSlabPlanes && count == kAdvectionRows) {
    return advect_rows<kMostSlabPlanes, kAdvectionRows>(slab, 0, first, stage);
  }
  for (std::int64_t row = first; row < first + count; ++row) {
    for (std::size_t plane = 0; plane < slab.num_planes; ++plane) {
      advect_rows<1, 1>(slab, plane, row, stage);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::tiling
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::tiling {

HWY_EXPORT(advection);

void advection_block(const StencilSlab& slab, std::int64_t first_row, std::int64_t num_rows,
                     const AdvectionStage& stage) {
  HWY_DYNAMIC_DISPATCH(advection)(slab, first_row, num_rows, stage);
}

}  // namespace tandem::tiling
#endif
