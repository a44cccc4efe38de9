// SPDX-License-Identifier: Apache-2.0
//
// Links that hold more than on hardware while nobody reads them.
#include "emulation/card/program/stalled_links.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "emulation/card/units/unit_thread.h"

namespace tandem::emulation {
namespace {

using Level = LinkTable::Level;

// The server's thread tells of them while the writer may begin a command, so it changes nothing.
static_assert(std::is_invocable_v<decltype(&UnitThread::report_left), const UnitThread&,
                                  const hls_runtime::LeftValues&, uint64_t, const std::string&>);

const UnitRest kIdle{true, false}, kBusy{false, false}, kFree{false, true};

TEST(StalledLinks, HoldMoreThanTheirDepth) {
  EXPECT_EQ(stalled_links({Level{"a->b", 0, 1, 65, 64}}, {kIdle, kIdle}, 0), "1 65 64 a->b ");
  EXPECT_EQ(stalled_links({Level{"a->b", 0, 1, 64, 64}}, {kIdle, kIdle}, 0), "");
  EXPECT_EQ(stalled_links({Level{"a->b", 0, 1, 65, 64}}, {kIdle, kIdle}, 1), "");
}

TEST(StalledLinks, HaveReadersThatRest) {
  EXPECT_EQ(stalled_links({Level{"a->b", 0, 1, 65, 64}}, {kIdle, kBusy}, 0), "");
  EXPECT_EQ(stalled_links({Level{"a->b", 0, 1, 65, 64}}, {kIdle, kFree}, 0), "");
}

TEST(StalledLinks, WithoutADepthHoldAFew) {
  EXPECT_EQ(stalled_links({Level{"a->b", 0, 1, kUnstatedCapacity, 0}}, {kIdle, kIdle}, 0), "");
  EXPECT_EQ(stalled_links({Level{"a->b", 0, 1, kUnstatedCapacity + 1, 0}}, {kIdle, kIdle}, 0),
            "1 17 0 a->b ");
}

// What the links before a free-running unit hold is added, and what a call of it takes.
TEST(StalledLinks, MayBeBehindFreeRunningUnits) {
  const auto ring = [](uint64_t held, uint64_t calls) {
    return stalled_links({Level{"a->f", 0, 1, 0, 30, 50}, Level{"f->f", 1, 1, 0, 8, 10},
                          Level{"f->b", 1, 2, held, 10}},
                         {kIdle, UnitRest{false, true, false, calls}, kIdle}, 0);
  };
  EXPECT_EQ(ring(42, 60), "");
  EXPECT_EQ(ring(43, 60), "2 43 10 f->b ");
  EXPECT_EQ(ring(101, 1), "");
  EXPECT_EQ(ring(102, 1), "2 102 10 f->b ");
  EXPECT_EQ(ring(1000, 0), "") << "what a call takes that does not return is not known";
}

// Both units of a link that has left values are content, and the reader has begun once.
TEST(LeftLinks, AreBetweenUnitsThatAreOver) {
  const UnitRest over{true, false, true, 1}, failed{true, false, false, 1},
      freely{true, true, true, 1}, fresh{true, false, true, 0};
  const auto are_left = [](const UnitRest& writer, const UnitRest& reader, uint64_t held) {
    return !left_links({Level{"a->b", 0, 1, held, 4}}, {writer, reader}).empty();
  };
  EXPECT_TRUE(are_left(over, over, 1));
  EXPECT_TRUE(are_left(fresh, over, 1));
  EXPECT_FALSE(are_left(over, over, 0));
  for (const UnitRest& other : {failed, freely}) {
    EXPECT_FALSE(are_left(other, over, 1));
    EXPECT_FALSE(are_left(over, other, 1));
  }
  EXPECT_FALSE(are_left(over, fresh, 1));
}

TEST(LeftLinks, AreToldWithTheirLevels) {
  const UnitRest over{true, false, true, 1};
  const auto left =
      left_links({Level{"a->b", 0, 1, 0, 4}, Level{"b->a", 1, 0, 3, 4}}, {over, over});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].name, "b->a");
  EXPECT_EQ(left[0].held, 3u);
}

}  // namespace
}  // namespace tandem::emulation
