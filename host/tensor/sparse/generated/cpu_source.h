// SPDX-License-Identifier: Apache-2.0
//
// C++ source of a pattern's kernel for CPUs, and the arguments that it takes.
//
// The source needs no header, and a compiler with vector types (GCC, Clang). It defines
// `extern "C" void tandem_kernel(const Arguments*)`. Loops over columns, blocks and modes are
// written out, as are fibres of a fixed number
// of entries; sums stay in registers. Pure functions; threads: any. Errors: TANDEM_CHECK for a
// pattern that is not in the grammar.
#pragma once

#include <string>

#include "tensor/sparse/generated/kernel_pattern.h"
#include "tensor/sparse/kernels/mttkrp_block.h"
#include "tensor/sparse/kernels/row_matrix.h"

namespace tandem::sparse {

inline constexpr char kKernelSymbol[] = "tandem_kernel";

// mttkrp takes a MttkrpBlock of the pattern's type, the others a RowsCall.
std::string cpu_source(const KernelPattern& pattern);

}  // namespace tandem::sparse
