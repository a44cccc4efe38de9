// SPDX-License-Identifier: Apache-2.0
//
// The interpreter's controls in programs that run on a real GPU: they do nothing, because a GPU has
// its own timing and no faults on request. Cases that need them ask is_interpreted().
#include "gpu_kernels/simt/faults.h"
#include "gpu_kernels/simt/stream.h"

namespace tandem::simt {

bool is_interpreted() { return false; }
void set_faults(const Faults&) {}
void set_lazy(bool) {}
int pieces_of_work() { return 0; }
int graphs_made() { return 0; }

}  // namespace tandem::simt
