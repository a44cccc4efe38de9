// SPDX-License-Identifier: Apache-2.0
//
// The natural loops of a function and how they nest.
//
// A loop is all blocks from which a branch back to its header is reached, and the header dominates
// them. Cost: quadratic in the number of blocks, which is small. Pure. Source: Aho, Lam, Sethi,
// Ullman, "Compilers", 9.6.
#pragma once

#include <vector>

#include "bitstreams/compiler/timing/ir_text.h"

namespace tandem::timing {

struct IrLoop {
  int header = 0;
  std::vector<int> latches;
  std::vector<bool> blocks;  // [blocks of the function]
  int parent = -1;           // the next loop around it, by index; -1: none
};

// Outer loops come before the loops in them.
std::vector<IrLoop> find_loops(const IrFunction& function);
// The innermost loop that holds `block`, -1: none.
int innermost_loop(const std::vector<IrLoop>& loops, int block);

}  // namespace tandem::timing
