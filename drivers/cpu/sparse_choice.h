// SPDX-License-Identifier: Apache-2.0
//
// SparseChoice: decides whether the zeros of a weight are left out of its products.
//
// With kAuto a table of measurements decides. It has one entry per type and fraction of zeros,
// which is rounded down to a step. A form that takes more memory than the whole matrix is never
// chosen. An entry is measured when it is needed first: rows are multiplied with a random matrix in
// both forms, 32 together as in a prompt and 32 one by one as in decode. Each product begins with
// an empty last-level cache, because the weights of a model are larger than it. A model without
// zeros measures nothing. Threads: one caller, while the team has no other work.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/team.h"
#include "tensor/dtype.h"

namespace tandem::device::cpu {

enum class SparseMode { kAuto, kAlways, kNever };

// Throws Error for words other than auto, always and never.
SparseMode sparse_mode(std::string_view word);

struct SparseSpeed {
  DType dtype = DType::kF32;
  double zeros = 0;  // fraction of the values
  double dense_seconds = 0, sparse_seconds = 0;
};

// Returns a line for the log: "bf16 weights with 90 % zeros: 3.1 times as fast without them".
std::string sparse_note(const SparseSpeed& speed);

// The bytes to read so that a cache is emptied: twice its size, at most 256 MiB.
std::size_t wash_bytes(std::size_t cache_bytes);

// Measures the products of a random matrix with 32 rows together and with 32 rows one by one.
SparseSpeed measure_sparse_speed(Team& team, DType dtype, double zeros);

class SparseChoice {
 public:
  using Measure = std::function<SparseSpeed(DType dtype, double zeros)>;
  SparseChoice(SparseMode mode, Measure measure) : mode_(mode), measure_(std::move(measure)) {}

  // Below this fraction no product without zeros is faster, so nothing is measured.
  static constexpr double kLeastZeros = 0.4;

  // Whether callers must count zeros. If it is false, pays() is always false.
  bool looks_for_zeros() const { return mode_ != SparseMode::kNever; }
  bool pays(DType dtype, double zeros);

  // The measurements so far.
  const std::vector<SparseSpeed>& table() const { return table_; }

 private:
  SparseMode mode_;
  Measure measure_;
  std::vector<SparseSpeed> table_;
};

}  // namespace tandem::device::cpu
