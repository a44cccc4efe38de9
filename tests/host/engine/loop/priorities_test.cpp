// SPDX-License-Identifier: Apache-2.0
//
// Priorities through the whole loop, in virtual time.
#include <gmock/gmock.h>

#include "host/engine/loop/virtual_cost_rig.h"
#include "host/planner/mode/machines.h"

namespace tandem::engine {
namespace {

using ::testing::ElementsAre;

TEST(Priorities, ABetterRequestOvertakesThoseThatWaitAndThoseThatRun) {
  CostRig rig(planner::machine_with({}));
  rig.options().max_running = 2;
  rig.start();
  for (int i = 0; i < 4; ++i) rig.submit({16, 20, 5});  // 1 to 4
  for (int i = 0; i < 3; ++i) rig.step();
  rig.submit({16, 20, 5});   // 5
  rig.submit({16, 10, -1});  // 6
  rig.submit({16, 20, 0});   // 7
  rig.step();
  EXPECT_EQ(rig.loop().status().preemptions, 2u) << "both gave way";
  while (!rig.loop().idle()) rig.step();
  EXPECT_THAT(rig.ended, ElementsAre(6, 7, 1, 2, 3, 4, 5));
  rig.expect_tokens();
}

TEST(Priorities, RequestsOfOnePriorityKeepTheirOrder) {
  CostRig rig(planner::machine_with({}));
  rig.options().max_running = 1;
  rig.start();
  for (const int priority : {3, 1, 3, 1}) rig.submit({16, 2, priority});
  while (!rig.loop().idle()) rig.step();
  EXPECT_THAT(rig.ended, ElementsAre(2, 4, 1, 3));
}

}  // namespace
}  // namespace tandem::engine
