// SPDX-License-Identifier: Apache-2.0
//
// RowGroup: the next rows of one sequence in a step, and where the blocks of the sequence are.
//
// Threads: plain data. Ownership: borrows the page table's blocks.
#pragma once

#include <span>

#include "engine/kv_cache/kv_cache.h"

namespace tandem::engine {

struct RowGroup {
  std::span<const BlockPlace> blocks;  // enough blocks for past + num_rows tokens
  int past = 0;
  int num_rows = 0;
  int row_begin = 0;  // index of the group's first row in the sub-batch
};

// The unit that appends the group's last row.
inline int home_unit(const RowGroup& group, int page_tokens) {
  const int last = group.past + group.num_rows - 1;
  return group.blocks[static_cast<std::size_t>(last / page_tokens)].unit;
}

}  // namespace tandem::engine
