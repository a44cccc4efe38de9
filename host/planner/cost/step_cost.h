// SPDX-License-Identifier: Apache-2.0
//
// StepCost: computes the time that a step of the engine takes from the work in it.
//
// A pure function: equal work has equal cost, and more work never costs less. The scheduler
// only compares costs, so any unit of time serves it. A simulation needs true seconds. Threads:
// any. Errors: none.
#pragma once

#include <cstdint>

namespace tandem::planner {

struct StepWork {
  std::int64_t rows = 0;             // tokens that go through the dense layers
  std::int64_t attended_tokens = 0;  // summed over the rows: the tokens that each row sees

  StepWork& operator+=(const StepWork& more);
};

// `num_rows` rows of one sequence, after `past` tokens; each row sees itself and all before it.
StepWork work_of_rows(int past, int num_rows);

class StepCost {
 public:
  virtual ~StepCost() = default;
  virtual double seconds(const StepWork& work) const = 0;
};

// Constant rates. The default counts rows.
class ConstantStepCost final : public StepCost {
 public:
  struct Rates {
    double per_step = 0, per_row = 1, per_attended_token = 0;  // seconds, not negative
  };
  ConstantStepCost() = default;
  explicit ConstantStepCost(const Rates& rates) : rates_(rates) {}

  double seconds(const StepWork& work) const override;

 private:
  Rates rates_;
};

// Each row costs 1, independent of the tokens that it sees.
const StepCost& cost_of_rows();

}  // namespace tandem::planner
