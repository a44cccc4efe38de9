// SPDX-License-Identifier: Apache-2.0
//
// Optimizer: updates weights in host memory in place from their gradients.
//
// Weights and gradients are f32 and belong to the caller; the state belongs to the optimiser. A
// parameter may be updated in ranges, in any order: the bits equal those of one update of the
// whole. If a rank owns only a range of a parameter, add() names the range, and there is state only
// for it. Numerics: rules.h. Ownership: borrows the pool. Threads: one call at a time; the pool
// shares the work. Errors: Error for invalid arguments, before any weight is written;
// std::bad_alloc in add() and update_rows().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/thread_pool.h"
#include "training/optimizer/rules.h"

namespace tandem::training {

struct OptimizedParameter {
  std::string name;
  std::uint64_t count = 0;  // values of the whole parameter
  std::uint32_t width = 1;  // values of a row
  UpdateRule rule = Adam{};
  // The values that are updated here; a count of 0 means all. Rules for rows need whole rows.
  std::uint64_t owned_first = 0;
  std::uint64_t owned_count = 0;
};

// Values [first, first + weights.size()) of a parameter.
struct RangeUpdate {
  std::uint32_t parameter = 0;
  std::uint64_t first = 0;
  std::span<float> weights;
  std::span<const float> gradient;  // the same number
  // Receives the new weights in bf16, rounded to nearest even, in the same pass. May be empty.
  std::span<std::uint16_t> copy;
};

// Some rows of a parameter.
struct RowsUpdate {
  std::uint32_t parameter = 0;
  std::span<const std::uint32_t> rows;  // of the whole parameter, all in the owned range
  std::span<const float> gradient;      // [rows.size(), width]
  std::span<float> weights;             // the whole owned range
  std::span<std::uint16_t> copy;        // the same number, or empty
};

// A part of the state, to be saved or overwritten.
struct StateView {
  std::string name;         // "layer.weight/exp_avg"
  std::uint64_t first = 0;  // counts values of the parameter, or its rows
  std::span<float> values;
};

// Optimizer optimizer(pool);
// const auto weight = optimizer.add({.name = "layer.weight", .count = 1 << 20, .rule = Adam{}});
// optimizer.update({.iteration = 1, .learning_rate = 1e-3},
//                  {.parameter = weight, .weights = weights, .gradient = gradient});
class Optimizer {
 public:
  explicit Optimizer(ThreadPool& pool);
  ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Errors: Error for a name that exists already, a rule out of range, an owned range outside the
  // parameter, or an owned range that cuts a row if the rule is for rows.
  std::uint32_t add(const OptimizedParameter& parameter);

  void update(const StepFactors& step, const RangeUpdate& range);

  // If a row is listed several times, its gradients are added in their order, and the rule is
  // applied once. Errors: Error for the rule Adam and for momentum, because they change rows
  // without a gradient.
  void update_rows(const StepFactors& step, const RowsUpdate& rows);

  // In the order of add(). Valid until the next add().
  std::vector<StateView> state();

  std::uint64_t state_bytes() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::training
