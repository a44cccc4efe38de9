// SPDX-License-Identifier: Apache-2.0
//
// Compiled without contraction: a product is rounded before it is added.
#include "xrt/products/product_sums.h"

#include <array>

#include "common/error.h"
#include "sparse_product/abi.h"

namespace tandem::device::xrt_card {
namespace {

using sparse_product::kLanes;
using sparse_product::kPartials;
using sparse_product::kTileColumns;
using Lanes = std::array<float, kLanes>;

float tree_of(const Lanes& v) {
  static_assert(kLanes == 8);
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

// Entries [first, last) of a row, all of one tile.
float tile_sum(const SparseRows& rows, std::uint64_t first, std::uint64_t last, const float* x) {
  static_assert(kPartials == 2 * kLanes);
  std::array<Lanes, 2> sums{};
  for (std::uint64_t group = 0; first < last; ++group) {
    Lanes products{};
    for (std::uint32_t lane = 0; lane < kLanes && first < last; ++lane, ++first) {
      products[lane] = rows.values[first] * x[rows.indices[first]];
    }
    float& sum = sums[group / kLanes % 2][group % kLanes];
    sum = group < kPartials ? tree_of(products) : sum + tree_of(products);
  }
  return tree_of(sums[0]) + tree_of(sums[1]);
}

}  // namespace

void product_rows_on_host(const SparseRows& rows, std::span<const float> x, std::span<float> y) {
  TANDEM_CHECK_OP(x.size(), ==, rows.columns);
  TANDEM_CHECK_OP(y.size(), ==, rows.rows());
  const auto tile_at = [&](std::uint64_t e) {
    return static_cast<std::uint32_t>(rows.indices[e]) / kTileColumns;
  };
  for (std::uint64_t row = 0; row < y.size(); ++row) {
    float sum = 0;
    const std::uint64_t end = rows.begins[row + 1];
    // A tile without entries would add +0, which changes nothing: no sum here is -0.
    for (std::uint64_t first = rows.begins[row], last = first; first < end; first = last) {
      while (last < end && tile_at(last) == tile_at(first)) ++last;
      sum += tile_sum(rows, first, last, x.data());
    }
    y[row] = sum;
  }
}

}  // namespace tandem::device::xrt_card
