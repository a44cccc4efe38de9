// SPDX-License-Identifier: Apache-2.0
//
// The known name that is suggested for a mistyped one.
#include "common/suggestion.h"

#include <gtest/gtest.h>

#include <array>

namespace tandem {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"model", "max-running", "max-waiting", "pin"};

TEST(Suggestion, NamesWhatIsMostAlike) {
  EXPECT_EQ(suggestion("modle", kNames), " (did you mean 'model'?)");
  EXPECT_EQ(suggestion("max-runing", kNames), " (did you mean 'max-running'?)");
  EXPECT_EQ(suggestion("max_waiting", kNames), " (did you mean 'max-waiting'?)");
  EXPECT_EQ(suggestion("pim", kNames), " (did you mean 'pin'?)");
}

TEST(Suggestion, ATypoIsALetterMoreLessOrOtherOrASwap) {
  EXPECT_EQ(num_typos("model", "model"), 0u);
  EXPECT_EQ(num_typos("modle", "model"), 1u);
  EXPECT_EQ(num_typos("mdel", "model"), 1u);
  EXPECT_EQ(num_typos("models", "nodel"), 2u);
  EXPECT_EQ(num_typos("", "pin"), 3u);
  EXPECT_EQ(num_typos("max_running", "max-running"), 0u);
}

TEST(Suggestion, ShowsThePrefixThatCountsAsNoLetters) {
  EXPECT_EQ(suggestion("modle", kNames, "--"), " (did you mean '--model'?)");
  EXPECT_EQ(suggestion("on", kNames, "--"), "");
}

TEST(Suggestion, IsNoneWhereNothingIsAlike) {
  EXPECT_EQ(suggestion("colour", kNames), "");
  EXPECT_EQ(suggestion("on", kNames), "") << "two letters are like anything";
  EXPECT_EQ(suggestion("", kNames), "");
  EXPECT_EQ(suggestion("model", {}), "");
}

}  // namespace
}  // namespace tandem
