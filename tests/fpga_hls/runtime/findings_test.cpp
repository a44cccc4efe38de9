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

// The reader wants `second` first, so `first` must hold all its values. `depth` 0: none is stated.
void cross(int count, unsigned depth) {
  hls::stream<int> first("first"), second("second");
  if (depth != 0) first.set_depth(depth);
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

TEST(Findings, AStreamWithoutAStatedDepthHasTheDefaultOneInARegion) {
  Unit unit("unit_1", nullptr, false, 1 << 24, true);
  EXPECT_EQ(unit.run([] { cross(1000, 0); }).end, End::kDone);
  const RunFindings& findings = unit.scheduler().findings();
  ASSERT_EQ(findings.depths.size(), 1u);
  EXPECT_EQ(findings.depths[0].stream, "first");
  EXPECT_EQ(findings.depths[0].depth, 1000u);
  ASSERT_EQ(findings.waits.size(), 2u);
  EXPECT_EQ(findings.waits[0].held, 2u);
  EXPECT_EQ(findings.waits[0].depth, 2u);

  // It suffices for two values, and where values are passed on at once.
  EXPECT_EQ(unit.run([] { cross(2, 0); }).end, End::kDone);
  EXPECT_TRUE(unit.scheduler().findings().depths.empty());
  EXPECT_EQ(unit.run([] {
                  hls::stream<int> stream;
                  Region region;
                  region.start("give", [&] {
                    for (int i = 0; i < 1000; ++i) stream.write(i);
                  });
                  region.start("take", [&] {
                    for (int i = 0; i < 1000; ++i) EXPECT_EQ(stream.read(), i);
                  });
                  region.join();
                })
                .end,
            End::kDone);
  EXPECT_TRUE(unit.scheduler().findings().depths.empty());
}

// The first `count` values go one by one, the next ten of `first` before those of `second`.
void stand_still_late(int count) {
  hls::stream<int> first("first"), second("second");
  Region region;
  region.start("give", [&] {
    for (int i = 0; i < count; ++i) {
      first.write(i);
      second.write(i);
    }
    for (int i = 0; i < 10; ++i) first.write(i);
    for (int i = 0; i < 10; ++i) second.write(i);
  });
  region.start("take", [&] {
    for (int i = 0; i < count + 10; ++i) {
      (void)second.read();
      (void)first.read();
    }
  });
  region.join();
}

TEST(Findings, DepthsMayBeKeptForTheFirstValuesOnly) {
  hls_runtime::UnitSettings settings;
  settings.keeps_depths = settings.exact_depths = true;
  settings.most_kept = 50;
  Unit unit(settings);
  const auto depths = [&unit] { return unit.scheduler().findings().depths; };
  EXPECT_EQ(unit.run([] { stand_still_late(20); }).end, End::kDone);
  ASSERT_EQ(depths().size(), 1u);
  EXPECT_EQ(depths()[0].depth, 10u);
  EXPECT_EQ(unit.run([] { stand_still_late(100); }).end, End::kDone);
  EXPECT_TRUE(depths().empty());
  // What has begun is followed to its end.
  EXPECT_EQ(unit.run([] { cross(1000, 0); }).end, End::kDone);
  ASSERT_EQ(depths().size(), 1u);
  EXPECT_EQ(depths()[0].depth, 1000u);
}

TEST(Findings, WithoutTheCheckAStreamWithoutAStatedDepthHasNone) {
  Unit unit;
  EXPECT_EQ(unit.run([] { cross(1000, 0); }).end, End::kDone);
  EXPECT_TRUE(unit.scheduler().findings().depths.empty());
}

// A process that writes and then reads its own stream runs in the order of C.
TEST(Findings, AStreamInsideAProcessHasNoDefaultDepth) {
  Unit unit("unit_1", nullptr, false, 1 << 24, true);
  EXPECT_EQ(unit.run([] {
                  Region region;
                  region.start("sort", [] {
                    hls::stream<int> own;
                    for (int i = 0; i < 100; ++i) own.write(i);
                    for (int i = 0; i < 100; ++i) EXPECT_EQ(own.read(), i);
                  });
                  region.join();
                })
                .end,
            End::kDone);
  EXPECT_TRUE(unit.scheduler().findings().depths.empty());
}

TEST(Findings, NoDepthHelpsWhereValuesAreLeft) {
  Unit unit("unit_1", nullptr, false, 1 << 24, true);
  EXPECT_EQ(unit.run([] {
                  hls::stream<int> stream("words");
                  Region region;
                  region.start("give", [&] {
                    for (int i = 0; i < 100; ++i) stream.write(i);
                  });
                  region.start("take", [&] { EXPECT_EQ(stream.read(), 0); });
                  region.join();
                })
                .end,
            End::kDone);
  const RunFindings& findings = unit.scheduler().findings();
  EXPECT_TRUE(findings.depths.empty());
  ASSERT_EQ(findings.left.size(), 1u);
  EXPECT_EQ(findings.left[0].held, 99u);
}

// Two processes that use the same memory, the first of which fills a stream of the second.
void share(int& memory) {
  hls::stream<int> stream;
  Region region;
  region.start_using(memory, "give", [&] {
    for (int i = 0; i < 10; ++i) stream.write(i);
  });
  region.start_using(memory, "take", [&] {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(stream.read(), i);
  });
  region.join();
}

TEST(Findings, HardwareStartsProcessesThatShareTheMemoryOfTheCard) {
  int memory = 0;
  hls_runtime::UnitSettings settings;
  settings.keeps_depths = settings.exact_depths = true;
  settings.global_memory = &memory;
  settings.global_bytes = sizeof(memory);
  Unit unit(settings);
  EXPECT_EQ(unit.run([&] { share(memory); }).end, End::kDone);
  EXPECT_TRUE(unit.scheduler().findings().depths.empty());

  // The second waits for a variable of the kernel, so the stream must hold all values.
  int variable = 0;
  EXPECT_EQ(unit.run([&] { share(variable); }).end, End::kDone);
  ASSERT_EQ(unit.scheduler().findings().depths.size(), 1u);
  EXPECT_EQ(unit.scheduler().findings().depths[0].depth, 10u);
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
