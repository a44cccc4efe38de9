// SPDX-License-Identifier: Apache-2.0
//
// C++ source of a pattern's kernel for CPUs, and the arguments that it takes.
//
// The source needs no header, and a compiler with vector types (GCC, Clang). It defines
// `extern "C" void tandem_kernel(const Arguments*)`. Loops over columns, blocks and modes are
// written out; sums stay in registers. Pure functions; threads: any. Errors: TANDEM_CHECK for a
// pattern that is not in the grammar.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/sparse/generated/kernel_pattern.h"
#include "tensor/sparse/kernels/mttkrp_block.h"

namespace tandem::sparse {

inline constexpr char kKernelSymbol[] = "tandem_kernel";

// Rows [first, last) of a matrix by rows, or block rows of one by blocks. `columns`: index type.
struct RowsCall {
  const std::uint64_t* begins = nullptr;  // [rows + 1]
  const void* indices = nullptr;          // [entries] i32 or i64
  const void* values = nullptr;           // [entries, block_rows, block_columns]
  std::uint64_t first = 0, last = 0;
  const void* left = nullptr;   // sddmm: [rows, columns]
  const void* right = nullptr;  // [inputs, columns]; spmv: [inputs]
  const void* bias = nullptr;   // [rows] if the pattern has one
  void* out = nullptr;          // spmm: [rows, columns]; sddmm: [entries]; spmv: [rows]
};

// mttkrp takes a MttkrpBlock of the pattern's type, the others a RowsCall.
std::string cpu_source(const KernelPattern& pattern);

}  // namespace tandem::sparse
