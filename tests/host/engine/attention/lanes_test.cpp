// SPDX-License-Identifier: Apache-2.0
//
// Each lane by itself: in which order units are submitted to and waited for, what is copied, and
// what a failure leaves behind.
#include "engine/attention/host_lane.h"
#include "engine/attention/queue_lane.h"
#include "engine/attention/ring_lane.h"
#include "engine/attention/staged_lane.h"
#include "host/engine/attention/lanes_rig.h"

namespace tandem::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(Lanes, SubmitToUnitsBehindALinkFirstAndWaitForThemLast) {
  StagedLane lane(context_);
  prepare(lane);
  EXPECT_TRUE(lane.reads_rows(first_));
  EXPECT_TRUE(lane.submit(first_));
  EXPECT_THAT(take_log(), ElementsAre("submit card", "submit host"));
  EXPECT_TRUE(lane.collect(0));
  EXPECT_THAT(take_log(), ElementsAre("wait host 1", "wait card 1"));
  EXPECT_TRUE(lane.collect(0));
  EXPECT_THAT(take_log(), IsEmpty()) << "nothing is in flight";
}

TEST_F(Lanes, WaitOnlyOnceForAUnitThatIsStuck) {
  StagedLane lane(context_);
  prepare(lane);
  EXPECT_TRUE(lane.submit(first_));
  EXPECT_TRUE(lane.submit(second_));
  take_log();
  card_.answer = WaitResult::kTimeout;
  EXPECT_FALSE(lane.collect(0));
  EXPECT_FALSE(lane.collect(1)) << "its ticket of the other sub-batch counts as stuck too";
  EXPECT_THAT(take_log(), ElementsAre("wait host 1", "wait card 1", "wait host 2"));
  EXPECT_TRUE(losses_.is_stuck(1));
  EXPECT_THAT(losses_.take_stuck(), ElementsAre(1));
  EXPECT_THAT(losses_.take_stuck(), IsEmpty());
  EXPECT_THAT(losses_.take_lost(), ElementsAre(1)) << "it is lost once";
}

TEST_F(Lanes, WaitForEveryTicketOfALostUnit) {
  StagedLane lane(context_);
  prepare(lane);
  EXPECT_TRUE(lane.submit(first_));
  EXPECT_TRUE(lane.submit(second_));
  take_log();
  card_.answer = WaitResult::kLost;
  EXPECT_FALSE(lane.collect(0));
  EXPECT_FALSE(lane.collect(1));
  EXPECT_THAT(take_log(), ElementsAre("wait host 1", "wait card 1", "wait host 2", "wait card 2"));
  EXPECT_THAT(losses_.take_stuck(), IsEmpty());
  EXPECT_THAT(losses_.take_lost(), ElementsAre(1)) << "it is lost once";
}

TEST_F(Lanes, KeepTheErrorOfARefusedBatchUntilAllAreThrough) {
  StagedLane lane(context_);
  prepare(lane);
  EXPECT_TRUE(lane.submit(first_));
  take_log();
  host_.refuses = true;
  EXPECT_TRUE(lane.collect(0)) << "no unit is lost";
  EXPECT_THAT(take_log(), ElementsAre("wait host 1", "wait card 1"));
  EXPECT_THROW(losses_.throw_refused(), Error);
  EXPECT_NO_THROW(losses_.throw_refused()) << "it is thrown once";
  losses_.refuse(std::make_exception_ptr(Error("test", "refused")));
  losses_.forget_refused();
  EXPECT_NO_THROW(losses_.throw_refused());
}

TEST_F(Lanes, CopyNeighbouringRowsOfAllUnitsAtOnce) {
  StagedLane lane(context_);
  prepare(lane);
  lane.bring_rows(first_);
  queue_.sync();
  EXPECT_EQ(compute_.counts().copies, 3u) << "q, k and v";
  EXPECT_EQ(compute_.counts().copied_bytes, 2 * (context_.q_width + 2 * context_.kv_width) * 4);
  lane.return_results(first_);
  queue_.sync();
  EXPECT_EQ(compute_.counts().copies, 3u + 2 * 2) << "o and lse of each unit";
}

TEST_F(Lanes, CopyQueriesOnceWhereAUnitIsSentThemEarly) {
  StagedLane lane(context_);
  prepare(lane, true);
  EXPECT_TRUE(lane.send_queries(first_));
  EXPECT_THAT(take_log(), ElementsAre("submit card"));
  EXPECT_EQ(compute_.counts().copies, 1u) << "q";
  lane.bring_rows(first_);
  queue_.sync();
  EXPECT_EQ(compute_.counts().copies, 3u) << "k and v";
  EXPECT_TRUE(lane.submit(first_));
  EXPECT_THAT(take_log(), ElementsAre("submit card", "submit host")) << "appends, then the host";
}

TEST_F(Lanes, CopyNothingWhereRowsAreInHostMemory) {
  HostLane lane(context_);
  EXPECT_EQ(lane.host_rows(), HostRows::kNone);
  prepare(lane);
  lane.bring_rows(first_);
  lane.return_results(first_);
  queue_.sync();
  EXPECT_EQ(compute_.counts().copies, 0u);
}

TEST_F(Lanes, WaitForUnitsInTheQueueOnceAtTheEndOfAStep) {
  QueueLane lane(context_);
  prepare(lane);
  EXPECT_FALSE(lane.reads_rows(first_)) << "nothing waits for the rows";
  EXPECT_TRUE(lane.submit(first_));
  EXPECT_TRUE(lane.submit(second_));
  EXPECT_TRUE(lane.collect(0));
  EXPECT_THAT(take_log(), ElementsAre("submit host", "submit card", "submit host", "submit card"));
  host_.answer = WaitResult::kTimeout;
  EXPECT_FALSE(lane.finish());
  EXPECT_THAT(take_log(), ElementsAre("wait host 2", "wait card 2"));
  EXPECT_TRUE(lane.finish());
  EXPECT_THAT(take_log(), IsEmpty()) << "nothing is queued any more";
  EXPECT_THAT(losses_.take_lost(), ElementsAre(0));
  EXPECT_THAT(losses_.take_stuck(), ElementsAre(0));
}

TEST_F(Lanes, ForgetAUnitThatIsTakenBack) {
  StagedLane staged(context_);
  QueueLane queued(context_);
  for (AttentionLane* lane :
       {static_cast<AttentionLane*>(&staged), static_cast<AttentionLane*>(&queued)}) {
    lane->add_unit(0, host_);
    lane->remove_unit(0);
    lane->add_unit(0, card_);
  }
  lent_.add_unit(compute_, HostRows::kTwins);
  const RowGroup groups[] = {{{&places_[0], 1}, 3, 1, 0}};
  for (auto& layouts : lent_.layouts) {
    layouts.resize(1);
    layouts[0].build(groups, 16, {false});
  }
  losses_.reserve_unit();
  losses_.add_unit();
  for (AttentionLane* lane :
       {static_cast<AttentionLane*>(&staged), static_cast<AttentionLane*>(&queued)}) {
    lane->begin({&lent_, &windows_, {0, 2}});
    EXPECT_TRUE(lane->submit(first_));
    EXPECT_THAT(take_log(), ElementsAre("submit card"));
  }
}

class RingLanes : public Lanes {
 protected:
  RingLanes() : Lanes(true) {}
};

TEST_F(RingLanes, GiveUpAComputeUnitThatDoesNotComeToItsEnd) {
  RingLane lane(context_);
  prepare(lane);
  lane.bring_rows(first_);
  lane.return_results(first_);
  compute_dies_ = true;
  lane.abort();
  EXPECT_THROW(lane.begin(step_), DeviceError);
}

TEST_F(RingLanes, BeginAnewAfterWorkThatTheComputeUnitRefused) {
  RingLane lane(context_);
  prepare(lane);
  queue_.sync();
  const std::uint64_t one_begin = compute_.counts().copies;
  EXPECT_EQ(one_begin, 2u) << "the counts of each ring";
  lane.bring_rows(first_);
  lane.return_results(first_);
  compute_.push([] { throw Error("gpu", "refused"); });
  lane.abort();
  EXPECT_NO_THROW(lane.begin(step_)) << "what follows the refused work came to its end";
  queue_.sync();
  EXPECT_EQ(compute_.counts().copies, 2 * one_begin) << "an aborted step sets the counts again";
  EXPECT_TRUE(lane.finish());
  lane.begin(step_);
  queue_.sync();
  EXPECT_EQ(compute_.counts().copies, 2 * one_begin) << "a complete step leaves them";
  EXPECT_TRUE(lane.finish());
}

TEST_F(RingLanes, AreNotForUnitsThatMayNotHaveAThread) {
  AttentionExchange exchange(rig_.model().config(), queue_, options_, 0);
  EXPECT_TRUE(exchange.add_unit(host_)) << "a ring of its own";
  card_.own_thread = false;
  EXPECT_FALSE(exchange.add_unit(card_));
}

}  // namespace
}  // namespace tandem::engine
