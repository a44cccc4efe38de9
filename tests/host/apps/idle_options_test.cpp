// SPDX-License-Identifier: Apache-2.0
//
// Every option that may do nothing: with devices where it does something, and where not.
#include "apps/idle_options.h"

#include <gmock/gmock.h>

#include <functional>

namespace tandem::apps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using Set = std::function<void(RuntimeOptions&)>;

// What is said of options that were set so.
std::vector<std::string> said(const UsedDevices& used, const Set& set) {
  RuntimeOptions options;
  set(options);
  return idle_options(options, used);
}

// A GPU that computes and attends, and two cards.
const UsedDevices kGpuAndCards{.num_computing = 2,
                               .computes_apart = true,
                               .num_attending = 3,
                               .num_behind_link = 3,
                               .num_outside = 2,
                               .are_all_the_cpu = false};

TEST(IdleOptions, NothingIsSaidOfWhatNobodySet) {
  EXPECT_THAT(said({}, [](RuntimeOptions&) {}), IsEmpty());
  EXPECT_THAT(said(kGpuAndCards, [](RuntimeOptions&) {}), IsEmpty());
}

TEST(IdleOptions, EachIsNamedOnTheCpuAloneAndWorksWithAGpuAndCards) {
  const std::pair<const char*, Set> each[] = {
      {"--split tensor has no effect", [](RuntimeOptions& o) { o.split = "tensor"; }},
      {"--rings has no effect", [](RuntimeOptions& o) { o.rings = true; }},
      {"--rings has no effect", [](RuntimeOptions& o) { o.rings = false; }},
      {"--early-query has no effect", [](RuntimeOptions& o) { o.early_query = "on"; }},
      {"--placement pages has no effect", [](RuntimeOptions& o) { o.placement = "pages"; }},
      {"--kv-moves has no effect", [](RuntimeOptions& o) { o.kv_moves = true; }},
      {"--device-timeout-ms has no effect", [](RuntimeOptions& o) { o.device_timeout_ms = 9; }},
      {"--revive-seconds has no effect", [](RuntimeOptions& o) { o.revive_seconds = 0; }},
  };
  for (const auto& [line, set] : each) {
    EXPECT_THAT(said({}, set), ElementsAre(StartsWith(line)));
    EXPECT_THAT(said(kGpuAndCards, set), IsEmpty()) << line;
  }
}

TEST(IdleOptions, TheReasonIsNamed) {
  const auto of_split = said({}, [](RuntimeOptions& o) { o.split = "tensor"; });
  EXPECT_THAT(of_split,
              ElementsAre("--split tensor has no effect: --compute names one device (cpu)"));
}

TEST(IdleOptions, RingsNeedAGpuAndADeviceBesideIt) {
  const Set set = [](RuntimeOptions& o) { o.rings = true; };
  UsedDevices gpu_alone = kGpuAndCards, cards_beside_cpu = kGpuAndCards;
  gpu_alone.num_outside = 0;
  cards_beside_cpu.computes_apart = false;
  EXPECT_EQ(said(gpu_alone, set).size(), 1u);
  EXPECT_EQ(said(cards_beside_cpu, set).size(), 1u);
}

TEST(IdleOptions, SomeDependOnOtherOptionsOnly) {
  const Set guesses = [](RuntimeOptions& o) { o.draft_tokens = 3; };
  EXPECT_THAT(said(kGpuAndCards, guesses), ElementsAre(StartsWith("--draft-tokens has no effect")));
  EXPECT_THAT(said({}, [&](RuntimeOptions& o) { guesses(o), o.draft = "lookup"; }), IsEmpty());
  const Set shared = [](RuntimeOptions& o) { o.share_prefixes = true; };
  EXPECT_THAT(said({}, shared), IsEmpty());
  EXPECT_THAT(said({}, [&](RuntimeOptions& o) { shared(o), o.no_prefix_cache = true; }),
              ElementsAre(StartsWith("--share-prefixes has no effect")));
}

}  // namespace
}  // namespace tandem::apps
