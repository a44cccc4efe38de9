// SPDX-License-Identifier: Apache-2.0
//
// Pruner: sets the values of matrices with the smallest magnitudes to zero.
//
// A unit is a value or a block of values; its score is the sum of the magnitudes. Exactly
// round(fraction * units) units become zero, in every row (strip of blocks) or in all matrices
// together. Among equal scores the first units become zero. With N:M, each M values of a row keep
// N. Results do not depend on the number of threads. Threads: one caller; the pool's. Errors: Error
// for options that contradict each other, a matrix that a pattern does not fit, and values that are
// not finite. Source: M. Zhu, S. Gupta, "To prune, or not to prune", 2017 (magnitude).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/tensor_view.h"

namespace tandem {

struct PrunePattern {
  std::int64_t block_rows = 1, block_columns = 1;
  std::int64_t keep = 0, of = 0;  // N:M; of = 0: blocks
};

// "values", "2:4" (any N:M), "8x8" (any blocks). Throws Error.
PrunePattern parse_prune_pattern(std::string_view word);

enum class PruneScope { kRow, kGlobal };

struct PruneOptions {
  double fraction = 0;  // of the values, above 0 and below 1
  PruneScope scope = PruneScope::kRow;
  PrunePattern pattern;
};

class Pruner {
 public:
  // matrices: the matrices of the later calls of prune(), in the same order; borrowed. With kGlobal
  // the constructor reads them twice.
  Pruner(const PruneOptions& options, std::span<const TensorView> matrices, ThreadPool& pool);

  // Writes the pruned matrix as f32, f16 or bf16, [rows, columns].
  void prune(const TensorView& from, DType to, std::byte* result, ThreadPool& pool);

  std::uint64_t values() const { return values_; }  // of the matrices that prune() wrote
  std::uint64_t zeros() const { return zeros_; }    // among them, in the result

 private:
  void find_limit(std::span<const TensorView> matrices, ThreadPool& pool);

  PruneOptions options_;
  std::uint32_t limit_ = 0;   // kGlobal: scores below it become zero
  std::uint64_t equals_ = 0;  // kGlobal: number of scores equal to it that become zero
  std::uint64_t values_ = 0, zeros_ = 0;
};

}  // namespace tandem
