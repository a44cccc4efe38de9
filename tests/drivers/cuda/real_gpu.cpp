// SPDX-License-Identifier: Apache-2.0
//
// What cases ask of the interpreter, where they run on a GPU: it is as late as it is, and has no
// faults to order. Cases that need them say so by is_interpreted().
#include "gpu_kernels/simt/faults.h"
#include "gpu_kernels/simt/stream.h"

namespace tandem::simt {

bool is_interpreted() { return false; }
void set_faults(const Faults&) {}
void set_lazy(bool) {}
int pieces_of_work() { return 0; }
int graphs_made() { return 0; }

}  // namespace tandem::simt
