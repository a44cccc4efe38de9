// SPDX-License-Identifier: Apache-2.0
//
// What a run leaves for the card's report: waits with their places, the depths that streams need,
// values that nobody read.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "hls_stream.h"
#include "unit.h"

namespace tandem::hls_runtime_test {
namespace {

using hls_runtime::RunFindings;

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

TEST(Findings, ADeadlockHasTheStatementsWhereProcessesWait) {
  Unit unit("exchange_1");
  int line = 0;
  const Outcome outcome = unit.run([&line] {
    hls::stream<int> forth("forth"), back("back");
    Region region;
    line = __LINE__ + 1;
    region.start("left", [&] { forth.write(back.read()); });
    region.start("right", [&] { back.write(forth.read()); });
    region.join();
  });
  EXPECT_EQ(outcome.end, End::kDeadlock);
  const RunFindings& findings = unit.scheduler().findings();
  ASSERT_EQ(findings.waits.size(), 2u);
  EXPECT_EQ(findings.waits[0].unit, "exchange_1");
  EXPECT_EQ(findings.waits[0].process, "left");
  EXPECT_EQ(findings.waits[0].stream, "back");
  EXPECT_TRUE(findings.waits[0].for_data);
  EXPECT_EQ(findings.waits[0].place.line, line);
  EXPECT_TRUE(ends_with(findings.waits[0].place.file, "findings_test.cpp"));
  EXPECT_EQ(findings.waits[1].process, "right");
  EXPECT_EQ(findings.waits[1].place.line, line + 1);
  EXPECT_TRUE(findings.depths.empty());
  EXPECT_TRUE(findings.left.empty());
}

// The reader wants `second` first, so `first` must hold all its values.
void cross(int count, unsigned depth) {
  hls::stream<int> first("first"), second("second");
  first.set_depth(depth);
  second.set_depth(2);
  Region region;
  region.start("give", [&] {
    for (int i = 0; i < count; ++i) first.write(i);
    for (int i = 0; i < count; ++i) second.write(i);
  });
  region.start("take", [&] {
    for (int i = 0; i < count; ++i) (void)second.read();
    for (int i = 0; i < count; ++i) (void)first.read();
  });
  region.join();
}

TEST(Findings, AStreamThatIsTooShallowHasTheDepthThatItNeeds) {
  Unit unit("unit_1", nullptr, false, 1 << 24, true);
  EXPECT_EQ(unit.run([] { cross(1000, 4); }).end, End::kDone);
  const RunFindings& findings = unit.scheduler().findings();
  ASSERT_EQ(findings.depths.size(), 1u);
  EXPECT_EQ(findings.depths[0].stream, "first");
  EXPECT_EQ(findings.depths[0].depth, 1000u);
  EXPECT_GT(findings.depths[0].place.line, 0);
  ASSERT_EQ(findings.waits.size(), 2u);
  EXPECT_EQ(findings.waits[0].process, "give");
  EXPECT_FALSE(findings.waits[0].for_data);
  EXPECT_EQ(findings.waits[0].held, 4u);
  EXPECT_EQ(findings.waits[0].depth, 4u);

  // With one less it is still found; with that depth nothing is, nor is anything kept.
  EXPECT_EQ(unit.run([] { cross(1000, 999); }).end, End::kDone);
  ASSERT_EQ(findings.depths.size(), 1u);
  EXPECT_EQ(findings.depths[0].depth, 1000u);
  EXPECT_EQ(unit.run([] { cross(1000, 1000); }).end, End::kDone);
  EXPECT_TRUE(findings.depths.empty());
  EXPECT_TRUE(findings.waits.empty());
}

TEST(Findings, ValuesThatNobodyReadAreCounted) {
  Unit unit;
  int line = 0;
  const Outcome outcome = unit.run([&line] {
    line = __LINE__ + 1;
    hls::stream<int> values("values");
    for (int i = 0; i < 5; ++i) values.write(i);
    (void)values.read();
  });
  EXPECT_EQ(outcome.end, End::kDone);
  const RunFindings& findings = unit.scheduler().findings();
  ASSERT_EQ(findings.left.size(), 1u);
  EXPECT_EQ(findings.left[0].stream, "values");
  EXPECT_EQ(findings.left[0].held, 4u);
  EXPECT_EQ(findings.left[0].place.line, line);
}

TEST(Findings, OfAUnitThatRunsFreelyAreBounded) {
  Unit unit("free_1", nullptr, true);
  EXPECT_EQ(unit.run(
                    [] {
                      hls::stream<int> values("values");
                      values.write(1);
                    },
                    100)
                .end,
            End::kDone);
  EXPECT_EQ(unit.scheduler().findings().left.size(), 64u);
}

TEST(Findings, ValuesOfAFailedRunAreNone) {
  Unit unit;
  EXPECT_EQ(unit.run([] {
                  hls::stream<int> values("values"), never("never");
                  values.write(1);
                  (void)never.read();
                })
                .end,
            End::kDeadlock);
  EXPECT_TRUE(unit.scheduler().findings().left.empty());
  unit.run([] {
    try {
      hls::stream<int> values("values");
      values.write(1);
      throw std::runtime_error("thrown past a stream");
    } catch (const std::runtime_error&) {
    }
  });
  EXPECT_TRUE(unit.scheduler().findings().left.empty());
}

}  // namespace
}  // namespace tandem::hls_runtime_test
