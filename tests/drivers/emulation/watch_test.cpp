// SPDX-License-Identifier: Apache-2.0
//
// Another program asks cards how they are. Here the watcher is in the application's own process.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "apps/card/watched_cards.h"
#include "emulated_cards.h"

namespace tandem::emulation_test {
namespace {

using apps::WatchedCard;
using apps::WatchedCards;

constexpr auto kShort = std::chrono::milliseconds(200);

// Other tests have cards, too.
bool is_own(const WatchedCard& card) {
  if (!card.answer.is_object()) return false;
  const auto& users = card.answer["applications"];
  return std::find(users.begin(), users.end(), getpid()) != users.end();
}

std::optional<WatchedCard> find(const std::vector<WatchedCard>& cards, int process) {
  for (const WatchedCard& card : cards) {
    if (process == 0 ? is_own(card) : card.process == process) return card;
  }
  return {};
}

// The first answer about a card that fulfils `wanted`, which then stays so. `process` 0: own card.
template <typename Wanted>
WatchedCard wait_for(WatchedCards& cards, int process, const Wanted& wanted) {
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);;) {
    const auto card = find(cards.ask(kShort), process);
    if (card && wanted(*card)) return *card;
    if (std::chrono::steady_clock::now() < end) continue;
    ADD_FAILURE() << "the card never became so" << (card ? ": " + card->answer.dump() : "");
    return {};
  }
}

TEST(Watch, ShowsUnitsMemoryAndBytesOfACard) {
  TrialCard card;
  ASSERT_EQ(card.run(kWrite, 7), ERT_CMD_STATE_COMPLETED);
  card.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  WatchedCards cards;
  const WatchedCard seen = wait_for(cards, 0, [](const WatchedCard& each) {
    const auto& units = each.answer["units"];
    return !units.empty() && units[0]["state"] == "idle";
  });
  EXPECT_EQ(seen.state, "open");
  EXPECT_EQ(seen.answer["units"][0]["kernel"], "trial");
  EXPECT_EQ(seen.answer["units"][0]["launches"], 1);
  EXPECT_EQ(seen.answer["units"][0]["running_ns"], 0);
  EXPECT_GT(seen.answer["units"][0]["busy_ns"], 0);
  EXPECT_EQ(seen.answer["bytes_from_device"], 4096);
}

TEST(Watch, ShowsTheMemoryThatAProgramUsesOfItsOwnCard) {
  TrialCard card;
  WatchedCards cards;
  const auto used_by = [](const WatchedCard& each) {
    return each.answer["memory_bytes"].get<uint64_t>() - each.answer["free_bytes"].get<uint64_t>();
  };
  const auto used = [&] { return used_by(wait_for(cards, 0, is_own)); };
  EXPECT_EQ(used(), 4096u) << "the buffer of the trial card";
  {
    xrt::bo held(card.device, (1 << 20) + 1, card.kernel.group_id(2));
    EXPECT_EQ(used(), 4096u + (1 << 20) + 4096u) << "in whole pages";
    const int handle = held.export_buffer();
    EXPECT_EQ(used(), 4096u + (1 << 20) + 4096u) << "exported memory counts once";
    close(handle);
  }
  // The card takes exported memory back behind the program's call.
  wait_for(cards, 0, [&](const WatchedCard& each) { return used_by(each) == 4096; });
}

TEST(Watch, ShowsARunThatHasNotEnded) {
  TrialCard card;
  card.out.map<uint32_t*>()[2] = 0;
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  auto run = card.kernel(static_cast<uint32_t>(kSleepUntilFlag), 0u, card.out);
  WatchedCards cards;
  const WatchedCard seen = wait_for(cards, 0, [](const WatchedCard& each) {
    const auto& units = each.answer["units"];
    return !units.empty() && units[0]["state"] == "runs";
  });
  EXPECT_EQ(seen.answer["units"][0]["commands"], 1);
  wait_for(cards, 0,
           [](const WatchedCard& each) { return each.answer["units"][0]["running_ns"] > 0; });
  run.abort();
}

TEST(Watch, ACardThatIsStoppedIsSilentAndThenAnswersAgain) {
  const TrialCard card;
  WatchedCards cards;
  const int process = wait_for(cards, 0, is_own).process;
  ASSERT_GT(process, 1);
  kill(process, SIGSTOP);
  const WatchedCard silent =
      wait_for(cards, process, [](const WatchedCard& each) { return each.state == "silent"; });
  EXPECT_TRUE(silent.answer.is_null());
  kill(process, SIGCONT);
  EXPECT_TRUE(is_own(wait_for(cards, process, is_own)));
}

TEST(Watch, ACardThatEndedIsLostOnceAndThenGone) {
  const TrialCard card;
  WatchedCards cards;
  const int process = wait_for(cards, 0, is_own).process;
  ASSERT_GT(process, 1);
  kill(process, SIGKILL);
  wait_for(cards, process, [](const WatchedCard& each) { return each.state == "lost"; });
  EXPECT_FALSE(find(cards.ask(kShort), process));
}

}  // namespace
}  // namespace tandem::emulation_test
