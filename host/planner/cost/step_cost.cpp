// SPDX-License-Identifier: Apache-2.0
//
// Sums of work, and constant rates.
#include "planner/cost/step_cost.h"

namespace tandem::planner {

StepWork& StepWork::operator+=(const StepWork& more) {
  rows += more.rows;
  attended_tokens += more.attended_tokens;
  return *this;
}

StepWork work_of_rows(int past, int num_rows) {
  const std::int64_t rows = num_rows;
  return {rows, rows * past + rows * (rows + 1) / 2};
}

double ConstantStepCost::seconds(const StepWork& work) const {
  return rates_.per_step + rates_.per_row * static_cast<double>(work.rows) +
         rates_.per_attended_token * static_cast<double>(work.attended_tokens);
}

const StepCost& cost_of_rows() {
  static const ConstantStepCost cost;
  return cost;
}

}  // namespace tandem::planner
