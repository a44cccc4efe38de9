// SPDX-License-Identifier: Apache-2.0
//
// KernelPattern: what a generated kernel is specialised for, a point of a small grammar.
//
//   kernel  = product layout value index end
//   product = "mttkrp" order mode | "spmm" | "sddmm" | "spmv" | "attention" | "ttv" | "ttm"
//   layout  = entries of a fibre ("n2"; ttv, ttm), columns of dense rows, block ("b8x8")
//   value   = "f32" | "f64" | "bf16" (stored values; products over rows and fibres)
//   index   = "u16" | "i32" | "i64"
//   end     = nothing | bias | bias and activation   (spmm)
//
// key() is the sentence, and names a pattern in caches. Pure functions; threads: any.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tandem::sparse {

enum class KernelProduct { kMttkrp, kSpmm, kSddmm, kSpmv, kAttention, kTtv, kTtm };
// kBf16: the values of the sparse operand; dense ones and sums are f32.
enum class KernelValue { kF32, kF64, kBf16 };
enum class KernelIndex { kU16, kI32, kI64 };
enum class KernelEnd { kNone, kBias, kBiasRelu, kBiasSilu };

struct KernelPattern {
  KernelProduct product = KernelProduct::kMttkrp;
  std::size_t order = 2, mode = 0;  // of mttkrp
  std::size_t columns = 16;         // of a dense row with its padding; 1 for spmv and ttv
  std::size_t block_rows = 1, block_columns = 1;
  KernelValue value = KernelValue::kF32;
  KernelIndex index = KernelIndex::kU16;
  KernelEnd end = KernelEnd::kNone;
  std::size_t fibre = 0;  // entries of every fibre of ttv and ttm; 0: any number

  bool operator==(const KernelPattern&) const = default;
};

// "mttkrp.o3.m0.c16.f32.u16", "ttv.n2.c1.f32.i32", "spmm.c32.b8x8.f32.i32.bias.relu"
std::string key(const KernelPattern& pattern);

// Whether the grammar has it on CPUs. Larger patterns would not fit the registers, or take long to
// compile.
bool is_in_grammar(const KernelPattern& pattern);

// Every pattern up to these columns: for tests of the whole grammar.
std::vector<KernelPattern> grammar_points(std::size_t most_columns);

}  // namespace tandem::sparse
