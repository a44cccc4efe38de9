// SPDX-License-Identifier: Apache-2.0
//
// The vectorised loop over the entries of one block (block_partition.h), for mttkrp.cpp.
//
// Ownership: borrows all arrays. Threads: any, if they add to different rows of `out`; the caller
// handles rows that several blocks share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

template <typename Value>
struct MttkrpBlock {
  const std::uint16_t* distances = nullptr;  // [num_entries, order] indices less the block's base
  const Value* values = nullptr;             // [num_entries]
  std::size_t num_entries = 0, order = 0, mode = 0, stride = 0;
  std::array<const Value*, kMaxOrder> rows{};  // [order] each factor's row at the block's base
  Value* out = nullptr;                        // the result's row there; `stride` values per row
};

void add_block(const MttkrpBlock<float>& block);
void add_block(const MttkrpBlock<double>& block);

}  // namespace tandem::sparse
