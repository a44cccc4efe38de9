// SPDX-License-Identifier: Apache-2.0
//
// Gradual pruning: weights of a decoder's blocks become zero in steps, the smallest first.
//
// A matrix of a block has the share of zeros that Zhu and Gupta's cubic schedule asks for. A weight
// that is zero stays zero: so the zeros are all the state, and layers that move or runs that resume
// need no more. Gradients of zeros do not count in the norm. The embedding, the output, and vectors
// stay whole. Threads: one. Errors: Error("train", ...) naming the option. Source: arXiv
// 1710.01878.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "training/trainer/parameter_set.h"

namespace tandem::training {

struct Pruning {
  double share = 0;    // of zeros at the end, below 1; 0: no pruning
  double begin = 0.1;  // shares of the run
  double end = 0.7;
  std::uint64_t every = 0;  // steps between two cuts; 0: a twentieth of the time from begin to end

  bool is_on() const { return share > 0; }
};

void check_pruning(const Pruning& pruning);

// Whether the parameter is a matrix of a block.
bool is_pruned(const ParameterSpec& spec);
// Error if no parameter is one.
void require_pruned(const Pruning& pruning, std::span<const ParameterSpec> parameters);

// The share of zeros that begins after step `step` (from 1); nothing at other steps.
std::optional<double> cut_after(const Pruning& pruning, std::uint64_t step, std::uint64_t steps);

// Makes this share of the values zero: the smallest by magnitude, of equal ones the first.
void prune_values(std::span<float> values, double share);

// Of a parameter's gradient. With `prunes`, without the gradients of zeros.
double gradient_squares(const ParameterSpec& spec, std::span<const float> values,
                        std::span<const float> gradient, bool prunes);

// The zeros before an update, to restore them after it.
class KeptZeros {
 public:
  KeptZeros(const Pruning& pruning, ParameterSet& parameters);

  // After the update of step `step`: the zeros again, and the new ones of a cut.
  void restore(std::uint64_t step, std::uint64_t steps);

 private:
  const Pruning& pruning_;
  ParameterSet& parameters_;
  std::vector<std::vector<bool>> zeros_;  // [parameters][values], of matrices of blocks
};

}  // namespace tandem::training
