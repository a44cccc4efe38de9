// SPDX-License-Identifier: Apache-2.0
//
// SparseChoice: whether a weight with zeros is multiplied without them.
//
// By default a measured table decides: for a type and a part of zeros, rounded down to a step of
// the table, rows are multiplied with a random matrix in both forms, in turns, at the first
// question: 32 together, as of a prompt, and 32 one by one, as of the tokens after it. Before each
// product the last cache of the caller's core is emptied, since the weights of a model are larger.
// A model without zeros asks nothing and costs nothing. Threads: one caller, while the team has no
// other work.
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

// Throws Error for another word than auto, always, never.
SparseMode sparse_mode(std::string_view word);

struct SparseSpeed {
  DType dtype = DType::kF32;
  double zeros = 0;  // the part of the values
  double dense_seconds = 0, sparse_seconds = 0;
};

// "bf16 weights with 90 % zeros: 3.1 times as fast without them", for the log.
std::string sparse_note(const SparseSpeed& speed);

// What is read to empty a cache: twice as much, at most 256 MiB.
std::size_t wash_bytes(std::size_t cache_bytes);

// The seconds of 32 rows together and of 32 one by one, times a random matrix.
SparseSpeed measure_sparse_speed(Team& team, DType dtype, double zeros);

class SparseChoice {
 public:
  using Measure = std::function<SparseSpeed(DType dtype, double zeros)>;
  SparseChoice(SparseMode mode, Measure measure) : mode_(mode), measure_(std::move(measure)) {}

  // Below so few zeros no form without them is faster, and nothing is measured.
  static constexpr double kLeastZeros = 0.4;

  // Whether zeros are worth counting at all. False: pays() is false, too.
  bool looks_for_zeros() const { return mode_ != SparseMode::kNever; }
  bool pays(DType dtype, double zeros);

  // What was measured so far.
  const std::vector<SparseSpeed>& table() const { return table_; }

 private:
  SparseMode mode_;
  Measure measure_;
  std::vector<SparseSpeed> table_;
};

}  // namespace tandem::device::cpu
