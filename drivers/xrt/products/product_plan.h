// SPDX-License-Identifier: Apache-2.0
//
// Divides the rows of a sparse matrix over the compute units of a card, and packs a unit's rows.
//
// Units get consecutive rows with about equal steps of the kernel. Pure, except for the written
// bytes. Errors: Error for rows or columns above the kernel's, or more words than it can address.
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/sparse_unit.h"
#include "sparse_product/abi.h"
#include "xrt/card/card_timing.h"

namespace tandem::device::xrt_card {

struct ProductUnitPlan {
  std::uint64_t first_row = 0;
  SparseRows rows;
  std::vector<sparse_product::Segment> segments;
  std::size_t matrix_bytes = 0, result_bytes = 0;

  std::uint64_t cycles(std::uint32_t sharers) const;
};

// What a card costs beside its cycles: the channels that get the vector, and the units that share
// each.
struct ProductCard {
  std::size_t num_units = 1, num_vectors = 1;
  std::uint32_t sharers = 1;
  CardTiming timing;
};

// One plan per unit that has rows.
std::vector<ProductUnitPlan> plan_product(const SparseRows& rows, std::size_t num_units);

// to: [plan.matrix_bytes]
void pack_matrix(const ProductUnitPlan& plan, std::span<std::byte> to);

// The modelled time of a product: the transfers over the link one after the other, the command, and
// the slowest unit.
double modelled_seconds(std::span<const ProductUnitPlan> plans, const ProductCard& card);

// The same as rates for some of these rows.
SparseRates product_rates(const SparseRows& matrix, const ProductCard& card);

}  // namespace tandem::device::xrt_card
