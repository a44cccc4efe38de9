// SPDX-License-Identifier: Apache-2.0
//
// Which loops are pipelined and which are unrolled: by pragmas, then as Vitis does by itself.
//
// An innermost loop is pipelined. A loop with work beside its inner loops is pipelined instead of
// them where their trips are constant and few: they are unrolled into it. Perfect nests stay, since
// they become one loop. Pure. Source: Vitis HLS user guide (UG1399), config_compile pipeline_loops
// (64), "Loop Flattening"; synthesis reports of public examples.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "bitstreams/compiler/timing/addresses.h"
#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/loop_pragmas.h"
#include "bitstreams/compiler/timing/loop_tree.h"

namespace tandem::timing {

// `last_lines`: of loops in the source, by the counter of their header. `callers`: loops that call
// functions with loops, by index; they are not innermost ones.
void apply_pragmas(std::vector<LoopModel>& loops, const std::vector<LoopPragma>& pragmas,
                   const std::map<int, int>& last_lines, const std::set<int>& callers = {});

// Makes one loop of a nest whose outer loop has code beside a single inner one, pipelined and of
// constant trips: the code becomes part of the inner loop's iterations. `local`: loops whose code
// uses local memory only.
void join_nests(std::vector<LoopModel>& loops, const std::set<int>& local);

// Trips of an entry where the branch that leaves compares an index with a constant; else 0.
double fixed_trips(const IrFunction& function, const IrLoop& loop, const Addresses& addresses);

// The pipelined loop that `loop` is or is in; -1: none.
int pipelined_around(const std::vector<LoopModel>& loops, int loop);

// The pipelined loop that `loop` becomes: itself, or the innermost one of a perfect nest, where
// only the outermost loop may have trips that are not constant; -1: none.
int flattened(const std::vector<LoopModel>& loops, int loop);

bool is_pipelined(const LoopModel& loop);

}  // namespace tandem::timing
