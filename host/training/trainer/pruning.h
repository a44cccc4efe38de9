// SPDX-License-Identifier: Apache-2.0
//
// Gradual pruning: weights of a decoder's blocks become zero in steps, the smallest first.
//
// The share of zeros in every matrix of a block, or in all of them together, follows the cubic
// schedule of Zhu and Gupta. Together, layers of small weights get more zeros than others. A weight
// that is zero stays zero, so the zeros are the whole state: a layer that moves and a run that
// resumes need nothing else. Gradients of zeros do not count in the norm. The embedding, the
// output, and vectors are not pruned. Threads: one. Errors: Error("train", ...) naming the option.
// Source: arXiv 1710.01878.
#pragma once

#include <cstdint>
#include <functional>
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
  bool together = false;    // the smallest of all matrices, not of each

  bool is_on() const { return share > 0; }
};

struct CutStep {
  std::uint64_t step = 0, steps = 0;  // of the run; from 1
};

void check_pruning(const Pruning& pruning);

// Whether the parameter is a matrix of a block.
bool is_pruned(const ParameterSpec& spec);
// Throws Error if no parameter is pruned.
void require_pruned(const Pruning& pruning, std::span<const ParameterSpec> parameters);

// The new share of zeros if step `step` (from 1) ends with a cut; nothing if it does not.
std::optional<double> cut_after(const Pruning& pruning, std::uint64_t step, std::uint64_t steps);

// Makes this share of the values zero: the smallest by magnitude, of equal ones the first.
void prune_values(std::span<float> values, double share);

// Adds the counts of all others that hold some of the weights.
using SumCounts = std::function<void(std::vector<std::uint64_t>& counts)>;

// The least magnitude that this share of all values does not exceed; 0 for a share of nothing.
float magnitude_of_share(double share, std::span<const std::span<const float>> own,
                         const SumCounts& sum);

// With `together`, if step `step` ends with a cut: the smallest weights of all sets become zero.
// counted: the sets that count; each set of all holders counts once.
void cut_together(const Pruning& pruning, CutStep at, std::span<ParameterSet* const> sets,
                  std::span<ParameterSet* const> counted, const SumCounts& sum);

// Of a parameter's gradient. With `prunes`, without the gradients of zeros that are finite.
double gradient_squares(const ParameterSpec& spec, std::span<const float> values,
                        std::span<const float> gradient, bool prunes);

// The zeros before an update, to restore them after it.
class KeptZeros {
 public:
  KeptZeros(const Pruning& pruning, ParameterSet& parameters);

  // Call it after the update of step `step`. Sets the zeros again, and new ones if the step ends
  // with a cut of each matrix.
  void restore(std::uint64_t step, std::uint64_t steps);

 private:
  const Pruning& pruning_;
  ParameterSet& parameters_;
  std::vector<std::vector<bool>> zeros_;  // [parameters][values], of matrices of blocks
};

}  // namespace tandem::training
