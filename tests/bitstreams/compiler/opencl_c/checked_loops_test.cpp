// SPDX-License-Identifier: Apache-2.0
//
// The part of the look before a loop that the kernel's own object has.
#include "bitstreams/compiler/glue/opencl_c/checked_loops.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

std::vector<unsigned long> done_flags;

}  // namespace

extern "C" {
int tandem_cl_shares = 0;
void tandem_check_span_done(unsigned long, unsigned long, unsigned long flags, long, unsigned long,
                            long, unsigned long, void*) {
  done_flags.push_back(flags);
}
}

namespace {

TEST(CheckedLoopsTest, AnIndexStaysInItsArrayFromTheFirstTurnToTheLast) {
  EXPECT_EQ(tandem_cl_stays_below(0, 16, 1, 15, 0, 0), 1);
  EXPECT_EQ(tandem_cl_stays_below(0, 16, 1, 16, 0, 0), 0);
  EXPECT_EQ(tandem_cl_stays_below(1, 16, 1, 15, 0, 0), 0);
  EXPECT_EQ(tandem_cl_stays_below(15, 16, -1, 15, 0, 0), 1);
  EXPECT_EQ(tandem_cl_stays_below(15, 16, -1, 16, 0, 0), 0);
  EXPECT_EQ(tandem_cl_stays_below(-1, 16, 1, 3, 0, 0), 0);
  EXPECT_EQ(tandem_cl_stays_below(16, 16, -1, 3, 0, 0), 0);
  EXPECT_EQ(tandem_cl_stays_below(5, 16, 0, ~0ul, 7, 0), 1);
}

TEST(CheckedLoopsTest, TwoLoopsAddTheirChanges) {
  EXPECT_EQ(tandem_cl_stays_below(0, 64, 1, 7, 8, 7), 1);
  EXPECT_EQ(tandem_cl_stays_below(0, 63, 1, 7, 8, 7), 0);
  EXPECT_EQ(tandem_cl_stays_below(7, 64, -1, 7, 8, 7), 1);
  EXPECT_EQ(tandem_cl_stays_below(6, 64, -1, 7, 8, 7), 0);
}

TEST(CheckedLoopsTest, NumbersThatMightWrapAreNotKnown) {
  EXPECT_EQ(tandem_cl_stays_below(0, 64, 4, (1ul << 62) + 5, 0, 0), 0);
  EXPECT_EQ(tandem_cl_stays_below(0, 64, 1l << 62, 4, 0, 0), 0);
  EXPECT_EQ(tandem_cl_stays_below(0, 64, -(1l << 62), 4, 0, 0), 0);
}

TEST(CheckedLoopsTest, ReadsAreNotedForOtherItemsOnly) {
  done_flags.clear();
  tandem_cl_span_done(0, 4, 2, 4, 3, 0, 0);
  EXPECT_TRUE(done_flags.empty());
  tandem_cl_span_done(0, 4, 3, 4, 3, 0, 0);
  tandem_cl_shares = 1;
  tandem_cl_span_done(0, 4, 2, 4, 3, 0, 0);
  tandem_cl_shares = 0;
  EXPECT_EQ(done_flags, (std::vector<unsigned long>{3, 2}));
}

}  // namespace
