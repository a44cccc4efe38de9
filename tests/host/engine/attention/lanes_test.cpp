// SPDX-License-Identifier: Apache-2.0
//
// Each lane by itself: in which order units are submitted to and waited for, what is copied, and
// what a failure leaves behind.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "engine/attention/attention_exchange.h"
#include "engine/attention/queue_lane.h"
#include "engine/attention/ring_lane.h"
#include "engine/attention/staged_lane.h"
#include "host/engine/engine_rig.h"
#include "support/queued_compute_unit.h"

namespace tandem::engine {
namespace {

using device::WaitResult;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Writes down its calls and answers what it is told to.
class LoggedUnit final : public device::AttentionUnit {
 public:
  LoggedUnit(std::string name, bool has_link, std::vector<std::string>& log)
      : name_(std::move(name)), has_link_(has_link), log_(log) {}

  const device::AttentionGeometry& geometry() const override { return geometry_; }
  device::AttentionCapacity capacity() const override {
    return {8, 0, 0, has_link_ ? 1e9 : 0.0, 0};
  }
  device::Ticket submit(const device::AttentionBatch&, device::AttentionPartial) override {
    log_.push_back("submit " + name_);
    return ++ticket_;
  }
  WaitResult wait(device::Ticket ticket, Deadline) override {
    log_.push_back("wait " + name_ + " " + std::to_string(ticket));
    if (refuses) throw Error("test", "refused");
    return answer;
  }
  WaitResult export_page(device::PageId, std::span<std::byte>, Deadline) override {
    return WaitResult::kLost;
  }
  WaitResult import_page(device::PageId, std::span<const std::byte>, Deadline) override {
    return WaitResult::kLost;
  }
  bool works_in_queue_of(const device::ComputeUnit&) const override { return in_queue; }
  bool may_have_own_thread() const override { return own_thread; }
  device::AttentionStats stats() const override { return {}; }

  bool in_queue = false;
  bool own_thread = true;
  WaitResult answer = WaitResult::kDone;
  bool refuses = false;

 private:
  const std::string name_;
  const bool has_link_;
  std::vector<std::string>& log_;
  const device::AttentionGeometry geometry_{};
  device::Ticket ticket_ = 0;
};

// Two sub-batches of two decode rows each, one row on each of two units.
class Lanes : public ::testing::Test {
 protected:
  explicit Lanes(bool signals = false)
      : compute_(rig_.compute(), {.signals = signals,
                                  .on_allocate =
                                      [this] {
                                        if (has_no_memory_) throw Error("gpu", "out of memory");
                                      },
                                  .dies = [this] { return compute_dies_; }}),
        context_(queue_, rig_.model().config(), options_, losses_) {
    for (const char* id : {"host", "card"}) trace_.add_unit(id);
  }

  // `early`: of the second unit.
  void prepare(AttentionLane& lane, bool early = false) {
    int unit = 0;
    for (LoggedUnit* device : {&host_, &card_}) {
      losses_.reserve_unit();
      losses_.add_unit();
      lane.add_unit(unit++, *device);
      lent_.add_unit(compute_, lane.host_rows());
    }
    for (std::size_t i = 0; i < kMaxSubBatches; ++i) {
      const RowGroup groups[] = {{{&places_[0], 1}, 3, 1, 0}, {{&places_[1], 1}, 3, 1, 1}};
      lent_.layouts[i].resize(1);
      lent_.layouts[i][0].build(groups, 16, {false, early});
    }
    step_ = {&lent_, &windows_, {0, 2}};
    lane.begin(step_);
  }
  std::vector<std::string> take_log() { return std::exchange(log_, {}); }

  EngineRig rig_;
  bool compute_dies_ = false, has_no_memory_ = false;
  test::QueuedComputeUnit compute_;
  StepTrace trace_{nullptr, "gpu"};
  ComputeQueue queue_{compute_, trace_};
  ExecutorOptions options_{.max_rows = 8};
  UnitLosses losses_;
  LaneContext context_;
  std::vector<std::string> log_;
  LoggedUnit host_{"host", false, log_}, card_{"card", true, log_};
  const LayerWindows windows_{rig_.model().config()};
  LentBuffers lent_{compute_, rig_.model().config(), 8};
  const BlockPlace places_[2] = {{0, 0}, {1, 0}};
  LaneStep step_;
  const StepPlace first_{0, 0}, second_{0, 1};
};

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

class Exchange : public Lanes {
 protected:
  explicit Exchange(bool signals = false) : Lanes(signals) {}

  // Two sub-batches; a row on each of the units in each.
  StepRows rows(std::span<const BlockPlace> places) const {
    std::vector<RunnerItem> items;
    for (const int sub_batch : {0, 1}) {
      for (const BlockPlace& place : places) {
        items.push_back({.tokens = {&token_, 1}, .blocks = {&place, 1}, .sub_batch = sub_batch});
      }
    }
    StepRows rows;
    rows.assign(items, 16);
    return rows;
  }

  const TokenId token_ = 3;
  AttentionExchange exchange_{rig_.model().config(), queue_, options_, 0};
};

TEST_F(Exchange, ForgetsTheRefusalsOfAStepThatEndsByALoss) {
  exchange_.add_unit(host_);
  exchange_.add_unit(card_);
  const StepRows both = rows(places_);
  exchange_.begin(both);
  EXPECT_TRUE(exchange_.launch(first_));
  EXPECT_TRUE(exchange_.launch(second_));
  card_.answer = WaitResult::kLost;
  EXPECT_FALSE(exchange_.collect(0));
  host_.refuses = true;
  exchange_.abort();
  EXPECT_THAT(exchange_.take_lost(), ElementsAre(1));
  EXPECT_FALSE(exchange_.holds_lent()) << "no unit is stuck";
  host_.refuses = false;
  const StepRows one = rows(std::span(places_).first(1));
  exchange_.begin(one);
  EXPECT_TRUE(exchange_.launch(first_));
  EXPECT_TRUE(exchange_.collect(0));
  EXPECT_TRUE(exchange_.finish());
}

TEST_F(Exchange, SetsAsideWhatAStuckUnitMayUse) {
  exchange_.add_unit(host_);
  exchange_.add_unit(card_);
  const StepRows both = rows(places_);
  exchange_.begin(both);
  EXPECT_TRUE(exchange_.launch(first_));
  card_.answer = WaitResult::kTimeout;
  EXPECT_FALSE(exchange_.collect(0));
  exchange_.abort();
  EXPECT_TRUE(exchange_.holds_lent());
  const StepRows one = rows(std::span(places_).first(1));
  exchange_.begin(one);
  EXPECT_TRUE(exchange_.launch(first_));
  EXPECT_TRUE(exchange_.collect(0));
}

TEST_F(Exchange, TakesBackWhatAStuckUnitMightUseOnceAnotherIsInItsPlace) {
  exchange_.add_unit(host_);
  exchange_.add_unit(card_);
  const StepRows both = rows(places_);
  const auto lose = [&](LoggedUnit& unit, WaitResult answer) {
    exchange_.begin(both);
    EXPECT_TRUE(exchange_.launch(first_));
    unit.answer = answer;
    EXPECT_FALSE(exchange_.collect(0));
    exchange_.abort();
    unit.answer = WaitResult::kDone;
    EXPECT_THAT(exchange_.take_lost(), ElementsAre(&unit == &host_ ? 0 : 1));
  };
  exchange_.begin(both);
  const std::size_t before = compute_.num_buffers();
  LoggedUnit fresh("fresh", true, log_);
  for (const WaitResult answer : {WaitResult::kTimeout, WaitResult::kLost, WaitResult::kTimeout}) {
    lose(card_, answer);
    EXPECT_EQ(exchange_.holds_lent(), answer == WaitResult::kTimeout);
    exchange_.replace_unit(1, card_);
    EXPECT_FALSE(exchange_.holds_lent());
    exchange_.begin(both);
    EXPECT_EQ(compute_.num_buffers(), before) << "nothing is kept of those before";
  }
  lose(host_, WaitResult::kTimeout);
  exchange_.replace_unit(1, fresh);
  EXPECT_TRUE(exchange_.holds_lent()) << "another unit is stuck";
  exchange_.replace_unit(0, host_);
  EXPECT_FALSE(exchange_.holds_lent());
  take_log();
  exchange_.begin(both);
  EXPECT_TRUE(exchange_.launch(first_));
  EXPECT_TRUE(exchange_.collect(0));
  EXPECT_THAT(take_log(),
              ElementsAre("submit fresh", "submit host", "wait host 5", "wait fresh 1"));
}

TEST_F(Exchange, PutsAUnitOfAnotherLaneInAPlace) {
  exchange_.add_unit(host_);
  exchange_.add_unit(card_);
  const StepRows both = rows(places_);
  LoggedUnit queued("queued", false, log_);
  queued.in_queue = true;
  exchange_.replace_unit(1, queued);
  exchange_.begin(both);
  EXPECT_TRUE(exchange_.launch(first_));
  EXPECT_TRUE(exchange_.collect(0));
  EXPECT_TRUE(exchange_.finish());
  EXPECT_THAT(take_log(), testing::UnorderedElementsAre("submit queued", "submit host",
                                                        "wait host 1", "wait queued 1"));
}

TEST_F(Exchange, ForgetsAUnitWhoseBuffersDoNotFit) {
  has_no_memory_ = true;
  EXPECT_THROW(exchange_.add_unit(host_), Error);
  has_no_memory_ = false;
  card_.in_queue = true;
  EXPECT_FALSE(exchange_.add_unit(card_));
  const StepRows one = rows(std::span(places_).first(1));
  exchange_.begin(one);
  EXPECT_TRUE(exchange_.launch(first_));
  EXPECT_THAT(take_log(), ElementsAre("submit card")) << "it is unit 0";
}

class RingExchange : public Exchange {
 protected:
  RingExchange() : Exchange(true) {}
};

TEST_F(RingExchange, FeedsAUnitWithARingThatTookAPlaceInTheHostLane) {
  host_.own_thread = card_.own_thread = false;
  EXPECT_FALSE(exchange_.add_unit(host_));
  EXPECT_FALSE(exchange_.add_unit(card_));
  EXPECT_EQ(exchange_.ways().size(), 2u);
  LoggedUnit fresh("fresh", true, log_);
  exchange_.replace_unit(1, fresh);
  EXPECT_EQ(exchange_.ways().size(), 4u);
  exchange_.choose_way({.early_queries = false, .rings = false});
  const StepRows both = rows(places_);
  exchange_.begin(both);
  EXPECT_TRUE(exchange_.launch(first_));
  EXPECT_TRUE(exchange_.collect(0));
  EXPECT_TRUE(exchange_.finish());
  EXPECT_THAT(take_log(),
              ElementsAre("submit fresh", "submit host", "wait host 1", "wait fresh 1"));
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
