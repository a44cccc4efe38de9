// SPDX-License-Identifier: Apache-2.0
//
// Commands of other programs among the words of a command line.
#include "apps/external_command.h"

#include <gmock/gmock.h>

namespace tandem::apps {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ExternalCommand, FollowsOptionsOfTheLogAndTakesThemAlong) {
  EXPECT_THAT(
      with_command_first({"--log-level", "debug", "--log-format=json", "map", "--seed", "1"}),
      ElementsAre("map", "--log-level", "debug", "--log-format=json", "--seed", "1"));
}

TEST(ExternalCommand, StaysFirstAndOtherWordsStay) {
  EXPECT_THAT(with_command_first({"map", "--log-level", "debug"}),
              ElementsAre("map", "--log-level", "debug"));
  EXPECT_THAT(with_command_first({"--version"}), ElementsAre("--version"));
  EXPECT_THAT(with_command_first({"--log-level"}), ElementsAre("--log-level"));
  EXPECT_THAT(with_command_first({"--log-level", "debug"}), ElementsAre("--log-level", "debug"));
  EXPECT_THAT(with_command_first({}), IsEmpty());
}

}  // namespace
}  // namespace tandem::apps
