// SPDX-License-Identifier: Apache-2.0
//
// Commands of other programs among the words of a command line.
#include "apps/external_command.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <fstream>

#include "common/error.h"
#include "common/scratch_folder.h"

namespace tandem::apps {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
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

std::string refusal(std::vector<std::string> words) try {
  with_command_first(std::move(words));
  return "taken";
} catch (const Error& error) {
  return error.what();
}

TEST(ExternalCommand, TakesAQuestionForHelpAlong) {
  EXPECT_THAT(with_command_first({"--help", "map"}), ElementsAre("map", "--help"));
  EXPECT_THAT(with_command_first({"-h", "--log-level", "off", "train"}),
              ElementsAre("train", "-h", "--log-level", "off"));
  EXPECT_THAT(with_command_first({"--version", "map"}), ElementsAre("--version", "map"));
}

TEST(ExternalCommand, OptionsBeforeItThatItsProgramReadsAreRefusedByTheNameOfThatProgram) {
  EXPECT_THAT(refusal({"--seed", "1", "map"}),
              HasSubstr("--seed stands before 'map'; write it behind, where the program "
                        "tandem-planner reads it."));
  EXPECT_THAT(refusal({"--log-level", "debug", "--config=x.toml", "train"}),
              HasSubstr("--config stands before 'train'; write it behind, where the program "
                        "tandem-train reads it."));
  EXPECT_THAT(refusal({"--json", "card", "run"}), HasSubstr("tandem-emulation"));
}

TEST(ExternalCommand, WordsThatNameNoneAreLeftToTheParser) {
  EXPECT_EQ(refusal({"--nonsense", "serve"}), "taken");
  EXPECT_EQ(refusal({"sevre", "map"}), "taken");
  EXPECT_EQ(refusal({"generate", "--prompt", "map"}), "taken");
  EXPECT_EQ(refusal({"--nonsense"}), "taken");
}

TEST(ExternalCommand, AMissingProgramOfABuildTreeIsToldWithTheCommandThatBuildsIt) {
  const ScratchFolder folder("test", "external_command.");
  std::ofstream(folder.path() + "/CMakeCache.txt") << "\n";
  const std::string program = folder.path() + "/bin/tandem-planner";
  EXPECT_EQ(cannot_run(program, ENOENT),
            "cannot run " + program + ": No such file or directory; build it with `cmake --build " +
                folder.path() + " --target tandem-planner`");
}

TEST(ExternalCommand, AMissingProgramOfAnInstallationIsToldWithItsComponent) {
  EXPECT_THAT(cannot_run("/no/bin/tandem-emulation", ENOENT),
              HasSubstr("install it with `cmake --install BUILD --component fpga`"));
  EXPECT_THAT(cannot_run("/no/bin/tandem-train", ENOENT), HasSubstr("--component training`"));
  EXPECT_THAT(cannot_run("/no/bin/tandem-collectives", ENOENT),
              HasSubstr("--component collectives`"));
  EXPECT_THAT(cannot_run("/no/bin/tandem-models", ENOENT), HasSubstr("--component serving`"));
  EXPECT_THAT(cannot_run("/no/bin/tandem-models", EACCES), EndsWith(": Permission denied"));
}

}  // namespace
}  // namespace tandem::apps
