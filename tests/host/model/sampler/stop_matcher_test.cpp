// SPDX-License-Identifier: Apache-2.0
//
// Stop texts against a search in the whole text.
#include "model/sampler/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>

namespace tandem::model {
namespace {

struct Outcome {
  std::string released, matched;
  bool operator==(const Outcome&) const = default;
};

Outcome naive(const std::vector<std::string>& stops, const std::string& text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::string best;
    for (const std::string& stop : stops) {
      if (!stop.empty() && text.substr(0, end).ends_with(stop) && stop.size() > best.size()) {
        best = stop;
      }
    }
    if (!best.empty()) return {text.substr(0, end - best.size()), best};
  }
  return {text, ""};
}

TEST(StopMatcher, ReleasesAtOnceWhatCannotBePartOfAStop) {
  StopMatcher matcher({"END", "\n\n"});
  EXPECT_EQ(matcher.push("hello E"), "hello ");
  EXPECT_EQ(matcher.push("X\n"), "EX");
  EXPECT_EQ(matcher.push("EN"), "\n");
  EXPECT_EQ(matcher.push("D and more"), "");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.matched(), "END");
  EXPECT_EQ(matcher.push("more"), "");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, FinishReleasesAPrefixThatNeverCompleted) {
  StopMatcher matcher({"</s>"});
  EXPECT_EQ(matcher.push("a</"), "a");
  EXPECT_EQ(matcher.finish(), "</");
  EXPECT_EQ(matcher.push("s>"), "s>") << "no stop text goes on behind an end";
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcher, WithoutStopsEverythingPasses) {
  StopMatcher matcher({""});
  EXPECT_EQ(matcher.push("anything"), "anything");
  EXPECT_FALSE(matcher.stopped());
}

// After "aabaaa" and a wrong byte, the "aa" at its end may still begin the stop text.
TEST(StopMatcher, FallsBackToTheLongestBeginningThatIsStillPossible) {
  StopMatcher matcher({"aabaaac"});
  EXPECT_EQ(matcher.push("aabaaabaaacd"), "aaba");
  EXPECT_TRUE(matcher.stopped());
}

TEST(StopMatcher, AgreesWithSearchingTheWholeTextHoweverItIsCut) {
  std::mt19937 random(8);
  for (int round = 0; round < 5000; ++round) {
    const auto random_text = [&](std::size_t longest) {
      std::string text;
      for (std::size_t size = random() % (longest + 1); text.size() < size;)
        text += "ab"[random() % 2];
      return text;
    };
    std::vector<std::string> stops;
    for (std::size_t count = random() % 4; stops.size() < count;) stops.push_back(random_text(5));
    const std::string text = random_text(25);
    StopMatcher matcher(stops);
    Outcome got;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = 1 + random() % 4;
      got.released += matcher.push(std::string_view(text).substr(at, size));
      at += size;
    }
    got.released += matcher.finish();
    got.matched = matcher.matched();
    ASSERT_EQ(got, naive(stops, text)) << text;
  }
}

}  // namespace
}  // namespace tandem::model
