// SPDX-License-Identifier: Apache-2.0
//
// The vectorised loop over the entries of one block, for mttkrp.cpp.
//
// Plain arguments. The caller handles rows of `out` that several blocks share. Threads: any, on
// different rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

template <typename Value>
struct MttkrpBlock {
  const std::uint16_t* distances = nullptr;  // [num_entries, order]
  const Value* values = nullptr;             // [num_entries]
  std::size_t num_entries = 0, order = 0, mode = 0, stride = 0;
  std::array<const Value*, kMaxOrder> rows{};  // [order] the factor's row of the block's base
  Value* out = nullptr;                        // the row of the block's base
};

void add_block(const MttkrpBlock<float>& block);
void add_block(const MttkrpBlock<double>& block);

}  // namespace tandem::sparse
