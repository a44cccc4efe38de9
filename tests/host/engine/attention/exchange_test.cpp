// SPDX-License-Identifier: Apache-2.0
//
// The exchange over several lanes: what a failure leaves behind, and units that come and go.
#include "engine/attention/attention_exchange.h"

#include "host/engine/attention/lanes_rig.h"

namespace tandem::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

// The loop may have found the loss by itself, when a step ended by an error and its losses remain.
TEST_F(Exchange, DoesNotBlameAUnitForALossOfTheOneBefore) {
  exchange_.add_unit(host_);
  exchange_.add_unit(card_);
  const StepRows both = rows(places_);
  exchange_.begin(both);
  EXPECT_TRUE(exchange_.launch(first_));
  card_.answer = WaitResult::kTimeout;
  EXPECT_FALSE(exchange_.collect(0));
  exchange_.abort();
  ASSERT_TRUE(exchange_.has_lost());
  EXPECT_TRUE(exchange_.is_silent(1));
  LoggedUnit fresh("fresh", true, log_);
  exchange_.replace_unit(1, fresh);
  EXPECT_THAT(exchange_.take_lost(), IsEmpty());
  EXPECT_FALSE(exchange_.is_silent(1));
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

}  // namespace
}  // namespace tandem::engine
