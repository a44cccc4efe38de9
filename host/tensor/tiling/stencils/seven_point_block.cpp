// SPDX-License-Identifier: Apache-2.0
//
// Whole vectors of columns, and single columns at the end; both take the same operations.
#include "tensor/tiling/stencils/seven_point_block.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/tiling/stencils/seven_point_block.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::tiling {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Whole = hn::ScalableTag<double>;
using One = hn::CappedTag<double, 1>;

constexpr std::size_t kP = kSevenPointPlanes, kR = kSevenPointRows;

// Pointers at the first column of a block's first row: planes -1 .. kP of the values and the
// conductivity, the others of the block.
struct BlockRows {
  const double* u[kP + 2];
  const double* k[kP + 2];
  const double* f[kP];
  double* out[kP];
  std::ptrdiff_t up, k_up, out_up;
  // The distances from the first row to the rows that are requested early, each of them twice.
  std::ptrdiff_t fetched[2][kR];
};

BlockRows rows_of(const StencilSlab& slab, std::int64_t row) {
  BlockRows rows{};
  rows.up = slab.source_stride;
  rows.k_up = slab.field_stride;
  rows.out_up = slab.out_stride;
  const bool has_fields = slab.heat_source[0] != nullptr;
  for (std::size_t p = 0; p < kP + 2; ++p) {
    rows.u[p] = slab.source[p] + row * rows.up;
    if (has_fields) rows.k[p] = slab.conductivity[p] + row * rows.k_up;
  }
  for (std::size_t p = 0; p < kP; ++p) {
    rows.out[p] = slab.out[p] + row * rows.out_up;
    if (has_fields) rows.f[p] = slab.heat_source[p] + row * rows.k_up;
  }
  for (std::size_t again = 0; again < 2; ++again) {
    for (std::size_t r = 0; r < kR; ++r) {
      const std::int64_t each = row + static_cast<std::int64_t>(r);
      rows.fetched[again][r] = slab.fetched_row(each, rows.up, again == 1) - row * rows.up;
    }
  }
  return rows;
}

// A cell of a block: a type, so that what is indexed by it stays in registers.
template <std::size_t kPlane, std::size_t kRow>
struct Cell {
  static constexpr std::size_t p = kPlane, r = kRow;
};

// Calls `work` for each cell of a block, planes first.
template <typename Work>
HWY_INLINE void for_block(const Work& work) {
  work(Cell<0, 0>());
  work(Cell<0, 1>());
  work(Cell<1, 0>());
  work(Cell<1, 1>());
}

// Vectors of a block's cells, and those before and behind: of values; of conductivities, the faces
// towards them.
template <typename D>
struct Around {
  hn::Vec<D> before[kP][kR], own[kP][kR], behind[kP][kR];
};

template <bool kFaces, typename D>
HWY_INLINE void load_around(const double* const (&planes)[kP + 2], std::ptrdiff_t up, std::size_t i,
                            Around<D>& cells) {
  for_block([&](auto cell) HWY_ATTR __attribute__((always_inline)) {
    constexpr std::size_t p = cell.p, r = cell.r;
    const double* const at = planes[p + 1] + static_cast<std::ptrdiff_t>(r) * up + i;
    const auto own = hn::LoadU(D(), at), before = hn::LoadU(D(), at - 1),
               behind = hn::LoadU(D(), at + 1);
    cells.own[p][r] = own;
    cells.before[p][r] = kFaces ? hn::Add(own, before) : before;
    cells.behind[p][r] = kFaces ? hn::Add(own, behind) : behind;
  });
}

// The neighbours of a cell across a block's rows and planes.
template <typename D, typename C>
HWY_INLINE hn::Vec<D> lower_row(const double* const (&planes)[kP + 2], std::ptrdiff_t up,
                                std::size_t i, const Around<D>& cells, C) {
  if constexpr (C::r > 0) return cells.own[C::p][C::r - 1];
  return hn::LoadU(D(), planes[C::p + 1] + i - up);
}
template <typename D, typename C>
HWY_INLINE hn::Vec<D> upper_row(const double* const (&planes)[kP + 2], std::ptrdiff_t up,
                                std::size_t i, const Around<D>& cells, C) {
  if constexpr (C::r + 1 < kR) return cells.own[C::p][C::r + 1];
  return hn::LoadU(D(), planes[C::p + 1] + i + std::ptrdiff_t{kR} * up);
}
template <typename D, typename C>
HWY_INLINE hn::Vec<D> lower_plane(const double* const (&planes)[kP + 2], std::ptrdiff_t up,
                                  std::size_t i, const Around<D>& cells, C) {
  if constexpr (C::p > 0) return cells.own[C::p - 1][C::r];
  return hn::LoadU(D(), planes[0] + i + static_cast<std::ptrdiff_t>(C::r) * up);
}
template <typename D, typename C>
HWY_INLINE hn::Vec<D> upper_plane(const double* const (&planes)[kP + 2], std::ptrdiff_t up,
                                  std::size_t i, const Around<D>& cells, C) {
  if constexpr (C::p + 1 < kP) return cells.own[C::p + 1][C::r];
  return hn::LoadU(D(), planes[kP + 1] + i + static_cast<std::ptrdiff_t>(C::r) * up);
}

template <typename D, bool kStreams>
HWY_INLINE void put(const hn::Vec<D>& value, double* out) {
  if constexpr (kStreams) {
    hn::Stream(value, D(), out);
  } else {
    hn::StoreU(value, D(), out);
  }
}

struct Heat {
  static constexpr bool kHasFields = false;
  double rate, own;

  template <typename D, bool kStreams>
  HWY_INLINE void run(const BlockRows& rows, std::size_t i, const Around<D>& u,
                      const Around<D>&) const {
    for_block([&](auto cell) HWY_ATTR __attribute__((always_inline)) {
      constexpr std::size_t p = cell.p, r = cell.r;
      const auto columns = hn::Add(u.before[p][r], u.behind[p][r]);
      const auto across =
          hn::Add(lower_row(rows.u, rows.up, i, u, cell), upper_row(rows.u, rows.up, i, u, cell));
      const auto planes = hn::Add(lower_plane(rows.u, rows.up, i, u, cell),
                                  upper_plane(rows.u, rows.up, i, u, cell));
      const auto sum = hn::Add(hn::Add(columns, across), planes);
      const auto value =
          hn::MulAdd(hn::Set(D(), rate), sum, hn::Mul(hn::Set(D(), own), u.own[p][r]));
      put<D, kStreams>(value, rows.out[p] + static_cast<std::ptrdiff_t>(r) * rows.out_up + i);
    });
  }
};

// A face of two cells is the sum of their conductivities, the same from both sides.
struct Jacobi {
  static constexpr bool kHasFields = true;

  template <typename D, bool kStreams>
  HWY_INLINE void run(const BlockRows& rows, std::size_t i, const Around<D>& u,
                      const Around<D>& k) const {
    hn::Vec<D> lower, below[kR];
    for_block([&](auto cell) HWY_ATTR __attribute__((always_inline)) {
      constexpr std::size_t p = cell.p, r = cell.r;
      constexpr auto row = static_cast<std::ptrdiff_t>(r);
      const auto own = k.own[p][r];
      if constexpr (r == 0) lower = hn::Add(own, lower_row(rows.k, rows.k_up, i, k, cell));
      if constexpr (p == 0) below[r] = hn::Add(own, lower_plane(rows.k, rows.k_up, i, k, cell));
      const auto upper = hn::Add(own, upper_row(rows.k, rows.k_up, i, k, cell));
      const auto above = hn::Add(own, upper_plane(rows.k, rows.k_up, i, k, cell));
      const auto source = hn::LoadU(D(), rows.f[p] + row * rows.k_up + i);
      auto through = hn::MulAdd(k.before[p][r], u.before[p][r], hn::Add(source, source));
      through = hn::MulAdd(k.behind[p][r], u.behind[p][r], through);
      through = hn::MulAdd(lower, lower_row(rows.u, rows.up, i, u, cell), through);
      through = hn::MulAdd(upper, upper_row(rows.u, rows.up, i, u, cell), through);
      through = hn::MulAdd(below[r], lower_plane(rows.u, rows.up, i, u, cell), through);
      through = hn::MulAdd(above, upper_plane(rows.u, rows.up, i, u, cell), through);
      auto faces = hn::Add(hn::Add(k.before[p][r], k.behind[p][r]), lower);
      faces = hn::Add(hn::Add(hn::Add(faces, upper), below[r]), above);
      put<D, kStreams>(hn::Div(through, faces), rows.out[p] + row * rows.out_up + i);
      lower = upper;
      below[r] = above;
    });
  }
};

#if HWY_TARGET <= HWY_AVX3
// A vector is a cache line here, so a load of neighbours would read two. The vectors before and
// after have them; each is loaded once.
template <bool kFaces>
class Carried {
 public:
  using V = hn::Vec<Whole>;

  HWY_INLINE Carried(const double* const (&planes)[kP + 2], std::ptrdiff_t up) {
    for_block([&](auto cell) HWY_ATTR __attribute__((always_inline)) {
      constexpr std::size_t p = cell.p, r = cell.r;
      const double* const at = planes[p + 1] + static_cast<std::ptrdiff_t>(r) * up;
      own_[p][r] = hn::LoadU(Whole(), at);
      last_[p][r] = hn::Set(Whole(), kFaces ? at[0] + at[-1] : at[-1]);
    });
  }

  // Of the cells i .. i + 8; then those that follow are the next.
  HWY_INLINE Around<Whole> at(const double* const (&planes)[kP + 2], std::ptrdiff_t up,
                              std::size_t i) {
    Around<Whole> cells;
    for_block([&](auto cell) HWY_ATTR __attribute__((always_inline)) {
      constexpr std::size_t p = cell.p, r = cell.r;
      const double* const after = planes[p + 1] + static_cast<std::ptrdiff_t>(r) * up + i + 8;
      const V next = hn::LoadU(Whole(), after);
      const V own = own_[p][r], neighbours = shifted<1>(next, own);
      const V behind = kFaces ? hn::Add(own, neighbours) : neighbours,
              carries = kFaces ? behind : own;
      cells.own[p][r] = own;
      cells.behind[p][r] = behind;
      cells.before[p][r] = shifted<7>(carries, last_[p][r]);
      last_[p][r] = carries;
      own_[p][r] = next;
    });
    return cells;
  }

 private:
  template <int kCells>
  HWY_INLINE static V shifted(V upper, V lower) {
    return V{_mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(upper.raw),
                                                     _mm512_castpd_si512(lower.raw), kCells))};
  }
  V own_[kP][kR], last_[kP][kR];
};
#else
template <bool kFaces>
class Carried {
 public:
  HWY_INLINE Carried(const double* const (&)[kP + 2], std::ptrdiff_t) {}
  HWY_INLINE Around<Whole> at(const double* const (&planes)[kP + 2], std::ptrdiff_t up,
                              std::size_t i) {
    Around<Whole> cells;
    load_around<kFaces>(planes, up, i, cells);
    return cells;
  }
};
#endif

// Heat has no conductivities.
struct NoFaces {
  HWY_INLINE NoFaces(const double* const (&)[kP + 2], std::ptrdiff_t) {}
  HWY_INLINE Around<Whole> at(const double* const (&)[kP + 2], std::ptrdiff_t, std::size_t) const {
    return {};
  }
};

template <bool kHasFields>
HWY_INLINE void fetch(const BlockRows& rows, std::size_t i) {
#pragma GCC unroll 4
  for (std::size_t again = 0; again < 2; ++again) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kR; ++r) {
      const std::ptrdiff_t away = rows.fetched[again][r];
#pragma GCC unroll 4
      for (std::size_t p = 0; p < kP; ++p) {
        __builtin_prefetch(rows.u[p + 2] + i + away, 0, 2);
        if constexpr (kHasFields) {
          __builtin_prefetch(rows.k[p + 2] + i + away, 0, 2);
          __builtin_prefetch(rows.f[p] + i + away, 0, 2);
        }
      }
    }
  }
}

template <typename D, bool kStreams, typename Math>
HWY_INLINE void run_cells(const BlockRows& rows, const Math& math, std::size_t i) {
  Around<D> u, k;
  load_around<false>(rows.u, rows.up, i, u);
  if constexpr (Math::kHasFields) load_around<true>(rows.k, rows.k_up, i, k);
  math.template run<D, kStreams>(rows, i, u, k);
}

// Whole vectors, at least one.
template <bool kStreams, bool kFetches, typename Math>
void run_vectors(const BlockRows& given, const Math& math, std::size_t end) {
  const BlockRows rows = given;  // the compiler must assume that the loop's stores change `given`
  const std::size_t lanes = hn::Lanes(Whole());
  Carried<false> u(rows.u, rows.up);
  std::conditional_t<Math::kHasFields, Carried<true>, NoFaces> k(rows.k, rows.k_up);
  std::size_t i = 0;
  for (; i + lanes < end; i += lanes) {
    if constexpr (kFetches) fetch<Math::kHasFields>(rows, i);
    math.template run<Whole, kStreams>(rows, i, u.at(rows.u, rows.up, i),
                                       k.at(rows.k, rows.k_up, i));
  }
  // The last vector reads its own neighbours only: another thread may write the cells behind them
  // now. It loads its cells again, because to keep those of the loop would cost a store per turn.
  if constexpr (kFetches) fetch<Math::kHasFields>(rows, i);
  run_cells<Whole, kStreams>(rows, math, i);
}

bool begins_at_vectors(const StencilSlab& slab) {
  std::uintptr_t bits = static_cast<std::uintptr_t>(slab.out_stride) * sizeof(double);
  for (std::size_t p = 0; p < kP; ++p) bits |= reinterpret_cast<std::uintptr_t>(slab.out[p]);
  return bits % (hn::Lanes(Whole()) * sizeof(double)) == 0;
}

template <bool kStreams, bool kFetches, typename Math>
void run_pairs(const StencilSlab& slab, const Math& math, std::int64_t pairs) {
  const auto count = static_cast<std::size_t>(slab.num_columns);
  const std::size_t lanes = hn::Lanes(Whole()), whole = count / lanes * lanes;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const BlockRows rows = rows_of(slab, pair * kSevenPointRows);
    if (whole > 0) run_vectors<kStreams, kFetches>(rows, math, whole);
    for (std::size_t i = whole; i < count; ++i) run_cells<One, false>(rows, math, i);
  }
}

template <typename Math>
std::int64_t run_slab(const StencilSlab& slab, const Math& math) {
  const std::int64_t pairs = slab.num_rows / kSevenPointRows;
  if (slab.num_planes != kP || (slab.streams && !begins_at_vectors(slab))) return 0;
  if (slab.streams) {
    slab.fetches ? run_pairs<true, true>(slab, math, pairs)
                 : run_pairs<true, false>(slab, math, pairs);
  } else {
    slab.fetches ? run_pairs<false, true>(slab, math, pairs)
                 : run_pairs<false, false>(slab, math, pairs);
  }
  return pairs * kSevenPointRows;
}

std::int64_t heat_slab(const StencilSlab& slab, double rate, double own) {
  return run_slab(slab, Heat{rate, own});
}
std::int64_t jacobi_slab(const StencilSlab& slab) { return run_slab(slab, Jacobi{}); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::tiling
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::tiling {

HWY_EXPORT(heat_slab);
HWY_EXPORT(jacobi_slab);

std::int64_t heat_blocks(const StencilSlab& slab, double rate, double own) {
  return HWY_DYNAMIC_DISPATCH(heat_slab)(slab, rate, own);
}
std::int64_t jacobi_blocks(const StencilSlab& slab) {
  return HWY_DYNAMIC_DISPATCH(jacobi_slab)(slab);
}

}  // namespace tandem::tiling
#endif
