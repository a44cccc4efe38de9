// SPDX-License-Identifier: Apache-2.0
//
// Differences of options, in words and on every rank.
#include "training/trainer/option_agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "common/error.h"
#include "support/ranks.h"

namespace tandem::training {
namespace {

TEST(OptionAgreement, NamesEachDifferenceWithItsRanks) {
  EXPECT_EQ(differences({{{"--steps", "1"}, {"--seed", "7"}}, {{"--steps", "1"}, {"--seed", "7"}}}),
            "");
  EXPECT_EQ(differences({{{"--steps", "1"}, {"--seed", "7"}},
                         {{"--steps", "2"}, {"--seed", "7"}},
                         {{"--steps", "1"}, {"--seed", "8"}}}),
            "--steps is 1 on ranks 0, 2, 2 on rank 1; --seed is 7 on ranks 0, 1, 8 on rank 2");
  EXPECT_EQ(differences({{{"--steps", "1"}}, {}}), "--steps is 1 on rank 0, absent on rank 1");
}

TEST(OptionAgreement, AResumedRunsChangesAreThoseOfWhatTheCheckpointKnows) {
  EXPECT_EQ(changes({{"--batch", "2"}, {"--seed", "7"}}, {{"--batch", "2"}, {"--seed", "7"}}), "");
  EXPECT_EQ(changes({{"--batch", "2"}, {"--seed", "7"}, {"--old", "1"}},
                    {{"--batch", "8"}, {"--seed", "5"}, {"--new", "1"}}),
            "--batch was 2 and is 8; --seed was 7 and is 5");
}

TEST(OptionAgreement, IsTheSameErrorOnEveryRank) {
  std::mutex mutex;
  std::vector<std::string> texts;
  test::run_ranks(3, [&](std::unique_ptr<transport::Transport> transport) {
    collectives::Group group(std::move(transport));
    require_equal_options(group, {{"--batch", "4"}});
    try {
      require_equal_options(group, {{"--batch", group.rank() == 1 ? "8" : "4"}});
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      texts.emplace_back(error.what());
    }
  });
  EXPECT_THAT(texts, testing::SizeIs(3));
  EXPECT_THAT(texts, testing::Each("[train] the ranks have different options: --batch is 4 on "
                                   "ranks 0, 2, 8 on rank 1; start all of them with the same"));
}

}  // namespace
}  // namespace tandem::training
