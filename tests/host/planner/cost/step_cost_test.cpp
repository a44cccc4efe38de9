// SPDX-License-Identifier: Apache-2.0
//
// The time of a step, from what it computes.
#include "planner/cost/step_cost.h"

#include <gtest/gtest.h>

namespace tandem::planner {
namespace {

TEST(StepCost, RowsSeeThemselvesAndAllBeforeThem) {
  for (const int past : {0, 1, 17}) {
    std::int64_t seen = 0;
    for (int rows = 0; rows < 6; ++rows) {
      const StepWork work = work_of_rows(past, rows);
      EXPECT_EQ(work.rows, rows);
      EXPECT_EQ(work.attended_tokens, seen);
      seen += past + rows + 1;
    }
  }
}

TEST(StepCost, ConstantRatesAddUp) {
  const ConstantStepCost cost({.per_step = 2, .per_row = 3, .per_attended_token = 5});
  EXPECT_DOUBLE_EQ(cost.seconds({}), 2);
  EXPECT_DOUBLE_EQ(cost.seconds({7, 11}), 2 + 3 * 7 + 5 * 11);
}

TEST(StepCost, CountsRowsWhereNothingIsKnown) {
  EXPECT_DOUBLE_EQ(cost_of_rows().seconds({7, 11}), 7);
}

TEST(StepCost, WorkAddsUp) {
  StepWork work{1, 2};
  work += {10, 20};
  EXPECT_EQ(work.rows, 11);
  EXPECT_EQ(work.attended_tokens, 22);
}

}  // namespace
}  // namespace tandem::planner
