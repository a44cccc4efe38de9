// SPDX-License-Identifier: Apache-2.0
//
// find_loops(): finds the natural loops of a function and their nesting.
//
// A loop consists of its header and all blocks that the header dominates and from which a branch
// back to the header can be reached. Cost: quadratic in the number of blocks, which is small. Pure.
// Source: Aho, Lam, Sethi, Ullman, "Compilers", 9.6.
#pragma once

#include <vector>

#include "bitstreams/compiler/timing/ir_text.h"

namespace tandem::timing {

struct IrLoop {
  int header = 0;
  std::vector<int> latches;
  std::vector<bool> blocks;  // [blocks of the function]
  int parent = -1;           // the innermost loop around it, by index; -1: none
};

// Outer loops come before the loops in them.
std::vector<IrLoop> find_loops(const IrFunction& function);
// The innermost loop that holds `block`, -1: none.
int innermost_loop(const std::vector<IrLoop>& loops, int block);
// All blocks that the function's first one reaches, each before those that only it leads to, but
// for branches back (reverse postorder).
std::vector<int> blocks_in_order(const IrFunction& function);

}  // namespace tandem::timing
