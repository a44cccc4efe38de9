// SPDX-License-Identifier: Apache-2.0
//
// loop_place(): the lines of a loop in the source.
//
// The branches back tell them. Where the optimiser has dropped that, as of a loop with several such
// branches, they are those of the loop's instructions that belong to the function of its first
// one. Pure.
#pragma once

#include "bitstreams/compiler/timing/ir_text.h"
#include "bitstreams/compiler/timing/loop_tree.h"

namespace tandem::timing {

struct LoopPlace {
  SourceLine first;  // line 0: not known
  int last = 0;
};

// Whether the loop only makes or ends the streams of an array: nothing that a circuit does in time.
bool only_makes_streams(const IrFunction& function, const IrLoop& loop);

LoopPlace loop_place(const IrModule& module, const IrFunction& function, const IrLoop& loop);

}  // namespace tandem::timing
