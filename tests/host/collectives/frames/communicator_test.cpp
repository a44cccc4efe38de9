// SPDX-License-Identifier: Apache-2.0
//
// Messages that are genuine but in the wrong place: of another rank, of another call, sent before.
#include "collectives/frames/communicator.h"

#include <gmock/gmock.h>

#include <chrono>

#include "transport/inproc/inproc.h"

namespace tandem::collectives {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::uint32_t kCall = 5;

// Three ranks; rank 0 receives in phase "push" what the test puts on the connection of rank 1.
class Frames : public testing::Test {
 protected:
  Communicator of(std::size_t rank, std::uint32_t call = kCall) {
    return {*world_[rank], call, Deadline::after(seconds(240))};
  }
  void deliver(const Payload& payload, std::uint32_t number) {
    std::vector<Outgoing> sends;
    sends.push_back({0, payload, (kCall << 12) | number});
    world_[1]->start(std::move(sends), {})->finish(Deadline::after(seconds(240)));
  }
  static std::string refusal(Communicator& ranks) {
    try {
      ranks.receive("push", 1);
    } catch (const TransportError& error) {
      EXPECT_EQ(error.kind(), TransportError::Kind::kGarbage) << error.what();
      EXPECT_EQ(error.peer(), 1);
      return error.what();
    }
    return "";
  }

  std::vector<std::unique_ptr<Transport>> world_ = transport::inproc::make_world(3);
};

TEST_F(Frames, AreTakenWhereTheyBelong) {
  Communicator receiver = of(0);
  deliver(of(1).seal("push", new_message(), 0), 0);
  EXPECT_EQ(refusal(receiver), "");
}

TEST_F(Frames, OfAnotherRankAreRefused) {
  Communicator receiver = of(0);
  deliver(of(2).seal("push", new_message(), 0), 0);
  EXPECT_THAT(refusal(receiver), HasSubstr("checksum differs"));
}

TEST_F(Frames, OfAnotherCallAreRefused) {
  Communicator receiver = of(0);
  deliver(of(1, kCall + 1).seal("push", new_message(), 0), 0);
  EXPECT_THAT(refusal(receiver), HasSubstr("a message of another call"));
}

TEST_F(Frames, OfAnotherPhaseAreRefused) {
  Communicator receiver = of(0);
  deliver(of(1).seal("pull", new_message(), 0), 0);
  EXPECT_THAT(refusal(receiver), HasSubstr("checksum differs"));
}

TEST_F(Frames, SentTwiceAreRefusedAlsoWhereASubgroupHadTheFirst) {
  for (const bool in_subgroup : {false, true}) {
    world_ = transport::inproc::make_world(3);
    Communicator receiver = of(0), sender = of(1);
    const Payload payload = sender.seal("push", new_message(), 0);
    Communicator pair = receiver.subgroup({0, 1});
    deliver(payload, 0);
    EXPECT_EQ(refusal(in_subgroup ? pair : receiver), "");
    deliver(payload, 1);
    EXPECT_THAT(refusal(receiver), HasSubstr("a message it had sent before"));
  }
}

TEST_F(Frames, OfASubgroupAreForItsMembers) {
  Communicator sender = of(2), receiver = of(1);
  Communicator from = sender.subgroup({1, 2}), to = receiver.subgroup({1, 2});
  from.send("push", 0, new_message());
  EXPECT_EQ(to.receive("push", 1).source(), 1) << "rank 2 is rank 1 of the pair";
}

// Rank 2 hears from rank 1 what rank 1 has heard from rank 0.
TEST_F(Frames, PassOnTheFirstCauseWithItsPhase) {
  world_[0]->abort("no luck");
  std::vector<TransportError> errors;
  for (const int rank : {1, 2}) {
    Communicator ranks = of(static_cast<std::size_t>(rank));
    try {
      ranks.receive(rank == 1 ? "push" : "pull", rank - 1);
    } catch (const TransportError& error) {
      errors.push_back(error);
    }
  }
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[1].peer(), 0);
  EXPECT_STREQ(errors[1].what(), errors[0].what());
  EXPECT_THAT(errors[1].what(), testing::EndsWith("rank 0 aborted: no luck (in phase push)"));
}

// Its owner decides whether the connections of a transport fail alone.
TEST_F(Frames, LeaveTheTransportsConnectionsAsTheyWere) {
  of(0);
  world_[1]->abort("rank 1 has enough");
  std::vector<Outgoing> sends;
  sends.push_back({0, of(2).seal("push", new_message(), 0), 1});
  world_[2]->start(std::move(sends), {});
  const auto message = world_[0]->start({}, {{2, 1}})->next(Deadline::after(seconds(240)));
  EXPECT_EQ(message->peer, 2);
}

}  // namespace
}  // namespace tandem::collectives
