// SPDX-License-Identifier: Apache-2.0
//
// The loop of jacobi against its definition, blocks against rows, bit by bit, and the rows that a
// slab requests early.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "host/tensor/tiling/instruction_sets.h"
#include "tensor/tiling/stencils/seven_point_block.h"
#include "tensor/tiling/stencils/stencil.h"
#include "tensor/tiling/stencils/stencil_row.h"

namespace tandem::tiling {
namespace {

// As the definition says it: the mean of two conductivities, and sums in the order of the faces.
double jacobi_cell(const StencilRow& row, std::int64_t i, bool fuses) {
  double through = row.heat_source[i], faces = 0;
  const std::ptrdiff_t up = row.row_stride;
  const auto add = [&](std::size_t plane, std::ptrdiff_t at) {
    const double face = 0.5 * (row.conductivity[1][i] + row.conductivity[plane][at]);
    const double u = row.planes[plane][at];
    through = fuses ? std::fma(face, u, through) : through + face * u;
    faces += face;
  };
  for (const std::ptrdiff_t away : {std::ptrdiff_t{-1}, std::ptrdiff_t{1}, -up, up})
    add(1, i + away);
  add(0, i);
  add(2, i);
  return through / faces;
}

void expect_bits_of_jacobi_rows() {
  constexpr std::int64_t kStride = 80, kLine = 8;
  std::vector<double> u, k, f;
  for (std::int64_t i = 0; i < 9 * kStride; ++i) {
    u.push_back(Stencil::initial({i, 0, 0}));
    k.push_back(Stencil::conductivity({i, 0, 0}));
    f.push_back(Stencil::heat_source({i, 0, 0}));
  }
  for (std::size_t count = 1; count < 60; ++count) {
    for (const bool streams : {false, true}) {
      std::vector<double> out(count + 2 * kLine, -7);
      StencilRow row;
      for (std::int64_t plane = 0; plane < 3; ++plane) {
        const std::int64_t first = (3 * plane + 1) * kStride + kLine;
        row.planes[static_cast<std::size_t>(plane)] = u.data() + first;
        row.conductivity[static_cast<std::size_t>(plane)] = k.data() + first;
      }
      row.row_stride = row.conductivity_stride = kStride;
      row.heat_source = f.data();
      row.out = out.data() + 1 + count % kLine;
      row.count = count;
      row.streams = streams;
      jacobi_row(row);
      finish_streams();
      std::int64_t fused = 0, plain = 0;
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
        fused += row.out[i] == jacobi_cell(row, i, true) ? 1 : 0;
        plain += row.out[i] == jacobi_cell(row, i, false) ? 1 : 0;
      }
      EXPECT_EQ(std::max(fused, plain), static_cast<std::int64_t>(count)) << streams;
      EXPECT_EQ(row.out[-1], -7);
      EXPECT_EQ(row.out[count], -7);
    }
  }
}

TEST(StencilRow, JacobiHasTheBitsOfItsDefinitionOnEveryInstructionSet) {
  on_every_instruction_set(expect_bits_of_jacobi_rows);
}

// Fields of a slab of two planes: four planes of values and conductivities, two of the others, each
// with a row beyond its first and its last and a vector before and after each row.
struct TwoPlanes {
  static constexpr std::int64_t kLine = 8, kRowStride = 8 * kLine, kRows = 9,
                                kPlane = kRows * kRowStride;
  TwoPlanes() {
    for (std::int64_t i = 0; i < 4 * kPlane; ++i) {
      u.push_back(Stencil::initial({i, 0, 0}));
      k.push_back(Stencil::conductivity({i, 0, 0}));
      f.push_back(Stencil::heat_source({i, 0, 0}));
    }
  }
  // Planes first .. first + planes, whose rows are written to `out` from `shift` on.
  StencilSlab slab(StencilKind kind, std::size_t first, std::size_t planes, double* out,
                   std::ptrdiff_t shift) const {
    StencilSlab slab;
    slab.num_planes = planes;
    slab.source_stride = slab.field_stride = slab.out_stride = kRowStride;
    for (std::size_t p = 0; p < planes + 2; ++p) {
      const std::ptrdiff_t at =
          static_cast<std::ptrdiff_t>(first + p) * kPlane + kRowStride + kLine;
      slab.source[p] = u.data() + at;
      if (kind == StencilKind::kJacobi) slab.conductivity[p] = k.data() + at;
      if (p >= planes) continue;
      slab.out[p] = out + at + shift;
      if (kind == StencilKind::kJacobi) slab.heat_source[p] = f.data() + at;
    }
    return slab;
  }
  std::vector<double> u, k, f;
};

void expect_bits_of_single_planes() {
  const TwoPlanes fields;
  std::vector<double> storage(fields.u.size() + 8);
  const auto words = reinterpret_cast<std::uintptr_t>(storage.data()) / sizeof(double);
  double* const blocks = storage.data() + (8 - words % 8) % 8;
  for (int form = 0; form < 16; ++form) {
    SCOPED_TRACE(form);
    const auto kind = (form & 1) != 0 ? StencilKind::kJacobi : StencilKind::kHeat;
    const Stencil stencil(kind);
    for (std::int64_t rows = 1; rows <= 6; ++rows) {
      for (std::int64_t columns = 1; columns < 45; ++columns) {
        const auto run = [&](StencilSlab slab) {
          slab.num_rows = rows;
          slab.num_columns = columns;
          slab.streams = (form & 2) != 0;
          slab.fetches = (form & 4) != 0;
          stencil.run(0, slab);
          finish_streams();
        };
        std::vector<double> single(fields.u.size(), -7);
        std::fill_n(blocks, single.size(), -7);
        const std::ptrdiff_t shift = (form & 8) != 0 ? 1 : 0;
        for (const std::size_t p : {0, 1}) run(fields.slab(kind, p, 1, single.data(), 0));
        run(fields.slab(kind, 0, 2, blocks, shift));
        for (std::size_t i = 0; i + 1 < single.size(); ++i) {
          ASSERT_EQ(blocks[i + static_cast<std::size_t>(shift)], single[i])
              << rows << " x " << columns << " at " << i;
        }
      }
    }
  }
}

TEST(SevenPointBlock, HasTheBitsOfRowsOnEveryInstructionSet) {
  on_every_instruction_set(expect_bits_of_single_planes);
}

// One distance leads to the rows that are requested of all fields.
TEST(StencilDeathTest, RequestsRowsEarlyOnlyOfFieldsOfOneLayout) {
  const TwoPlanes fields;
  std::vector<double> out(fields.u.size());
  StencilSlab slab = fields.slab(StencilKind::kJacobi, 0, 1, out.data(), 0);
  slab.num_rows = 2;
  slab.num_columns = 8;
  slab.field_stride = slab.source_stride / 2;
  Stencil(StencilKind::kJacobi).run(0, slab);
  slab.fetches = true;
  EXPECT_DEATH(Stencil(StencilKind::kJacobi).run(0, slab), "field_stride == slab.source_stride");
}

TEST(SevenPointBlock, TakesPairsOfRowsOfTwoPlanes) {
  const TwoPlanes fields;
  std::vector<double> out(fields.u.size());
  StencilSlab slab = fields.slab(StencilKind::kJacobi, 0, 2, out.data(), 0);
  slab.num_columns = 20;
  slab.num_rows = 5;
  EXPECT_EQ(jacobi_blocks(slab), 4);
  EXPECT_EQ(heat_blocks(slab, 0.1, 0.4), 4);
  slab.num_rows = 1;
  EXPECT_EQ(jacobi_blocks(slab), 0);
  slab.num_rows = 4;
  for (const std::size_t planes : {1, 3}) {
    slab.num_planes = planes;
    EXPECT_EQ(jacobi_blocks(slab), 0) << planes;
  }
}

TEST(StencilSlab, RequestsRowsOfTheNextSlabAtItsEnd) {
  StencilSlab slab;
  slab.num_rows = 6;
  slab.next = 1000;
  EXPECT_EQ(slab.fetched_row(0, 10), 40);
  EXPECT_EQ(slab.fetched_row(1, 10), 50);
  EXPECT_EQ(slab.fetched_row(2, 10), 1000);
  EXPECT_EQ(slab.fetched_row(5, 10), 1030);
  EXPECT_EQ(slab.fetched_row(3, 10, true), 50);
  EXPECT_EQ(slab.fetched_row(4, 10, true), 1000);
}

TEST(StencilSlab, RequestsTheRowsAroundIt) {
  StencilSlab slab;
  slab.num_rows = 12;
  const auto around = [&](std::int64_t radius, std::int64_t block) {
    std::vector<std::int64_t> rows;
    for (std::int64_t row = 0; row < slab.num_rows; row += block) {
      const std::int64_t halo = slab.halo_row(row, radius, block);
      for (std::int64_t k = 0; halo != row && k < block; ++k) rows.push_back(halo + k);
    }
    return rows;
  };
  const std::vector<std::int64_t> one{-1, 12}, four{-4, -3, -2, -1, 12, 13, 14, 15};
  EXPECT_EQ(around(1, 1), one);
  EXPECT_EQ(around(4, 1), four);
  EXPECT_EQ(around(4, 2), four);
}

}  // namespace
}  // namespace tandem::tiling
