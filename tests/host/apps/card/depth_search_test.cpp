// SPDX-License-Identifier: Apache-2.0
//
// The search for depths on a model of a program: it passes if all its streams are deep enough.
#include "apps/card/depth_search.h"

#include <gtest/gtest.h>

#include "common/error.h"

namespace tandem::apps {
namespace {

const StreamPlace kHead{"k.cpp", 3, "head"}, kTail{"k.cpp", 4, "tail"}, kPlain{"k.cpp", 5, "plain"};

// head and tail must have kTogether places, and head at least 2; a run lets them grow in turn.
constexpr std::uint64_t kTogether = 10;

struct ModelProgram {
  int runs = 0;

  DepthRun run(const StreamDepths& fixed) {
    ++runs;
    const auto begin = [&fixed](const StreamPlace& place) {
      const auto found = fixed.find(place);
      return found == fixed.end() ? std::uint64_t{1} : found->second;
    };
    DepthRun result;
    result.streams = {{kHead, 16}, {kTail, 0}, {kPlain, 2}};
    std::uint64_t head = begin(kHead), tail = begin(kTail);
    while (head < 2 || head + tail < kTogether) {
      const bool may_head = !fixed.contains(kHead), may_tail = !fixed.contains(kTail);
      if (!may_head && !may_tail) return {false, "stuck", result.streams, {}};
      if (may_tail && (tail <= head || !may_head)) {
        result.needs[kTail] = ++tail;
      } else {
        result.needs[kHead] = ++head;
      }
    }
    result.passed = true;
    return result;
  }
};

LeastDepths search(ModelProgram& program) {
  return find_least_depths([&program](const StreamDepths& fixed) { return program.run(fixed); });
}

TEST(DepthSearch, NoStreamCouldBeLessWhileTheOthersStay) {
  ModelProgram program;
  const LeastDepths depths = search(program);
  ASSERT_EQ(depths.streams.size(), 3u);
  EXPECT_EQ(depths.streams[0].place, kHead);
  EXPECT_EQ(depths.streams[0].stated, 16u);
  EXPECT_EQ(depths.streams[1].stated, 0u);
  EXPECT_EQ(depths.streams[2].place, kPlain);
  EXPECT_EQ(depths.streams[2].depth, 1u);
  EXPECT_EQ(depths.runs, program.runs);
  for (const StreamPlace& place : {kHead, kTail}) {
    StreamDepths all;
    for (const LeastDepth& least : depths.streams) all[least.place] = least.depth;
    EXPECT_TRUE(program.run(all).passed);
    --all.at(place);
    EXPECT_FALSE(program.run(all).passed) << place.stream;
  }
}

TEST(DepthSearch, AStreamThatGrowsAloneTakesTwoRuns) {
  const auto program = [](const StreamDepths& fixed) {
    DepthRun run;
    run.passed = true;
    run.streams = {{kHead, 16}, {kPlain, 2}};
    if (!fixed.contains(kHead)) run.needs = {{kHead, 5}};
    return run;
  };
  const LeastDepths depths = find_least_depths(program);
  EXPECT_EQ(depths.streams[0].depth, 5u);
  EXPECT_EQ(depths.streams[1].depth, 1u);
  EXPECT_EQ(depths.runs, 2);
}

TEST(DepthSearch, AProgramWithoutStreamsTakesOneRun) {
  const LeastDepths depths = find_least_depths([](const StreamDepths&) {
    DepthRun run;
    run.passed = true;
    return run;
  });
  EXPECT_EQ(depths.runs, 1);
  EXPECT_TRUE(depths.streams.empty());
}

TEST(DepthSearch, AProgramThatFailsAnywayIsRefusedWithItsProblem) {
  try {
    find_least_depths([](const StreamDepths&) {
      DepthRun run;
      run.problem = "it ended with exit code 7";
      return run;
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("exit code 7"), std::string::npos);
  }
}

TEST(DepthSearch, RunsThatDifferAreTold) {
  int runs = 0;
  const auto moody = [&runs](const StreamDepths&) {
    DepthRun run;
    run.passed = true;
    run.streams = {{kHead, 0}};
    run.needs = {{kHead, static_cast<std::uint64_t>(5 + runs++)}};
    return run;
  };
  EXPECT_THROW(find_least_depths(moody), Error);
}

// With less that is fixed a run has more room; that it fails says nothing of depths.
TEST(DepthSearch, AFailureInBetweenEndsTheSearch) {
  int runs = 0;
  const auto fails_second = [&runs](const StreamDepths&) {
    DepthRun run;
    run.passed = ++runs != 2;
    run.streams = {{kHead, 0}, {kTail, 0}};
    if (runs == 1) run.needs = {{kHead, 5}, {kTail, 4}};
    return run;
  };
  EXPECT_THROW(find_least_depths(fails_second), Error);
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace tandem::apps
