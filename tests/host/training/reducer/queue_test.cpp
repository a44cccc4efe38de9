// SPDX-License-Identifier: Apache-2.0
//
// The order of calls, their errors, and what counts as hidden.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <vector>

#include "training/reducer/call_queue.h"

namespace tandem::training {
namespace {

// A call that tells its times.
struct TimedCall {
  std::promise<void> may_end;
  std::promise<void> has_begun;
  std::promise<CallTimes> times;

  QueuedCall call(std::uint64_t step, bool last) {
    QueuedCall call;
    call.step = step;
    call.last = last;
    call.run = [this] {
      has_begun.set_value();
      may_end.get_future().wait();
    };
    call.finished = [this](const CallTimes& measured) { times.set_value(measured); };
    return call;
  }
};

TEST(CallQueue, RunsCallsInTheOrderOfTheirTickets) {
  std::vector<int> order;
  Ticket last = 0;
  CallQueue queue(HiddenUntil::kWait);
  for (int i = 0; i < 20; ++i) {
    last = queue.submit({.run = [&order, i] { order.push_back(i); }});
    EXPECT_EQ(last, static_cast<Ticket>(i + 1));
  }
  queue.wait(last, Deadline::never());
  ASSERT_EQ(order.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(CallQueue, TheLastCallOfAStepHidesEveryCallOfTheStepThatRunsBehindIt) {
  CallQueue queue(HiddenUntil::kLast);
  TimedCall first, last;
  queue.submit(first.call(1, false));
  first.has_begun.get_future().wait();
  const Ticket ticket = queue.submit(last.call(1, true));
  first.may_end.set_value();
  last.may_end.set_value();
  queue.wait(ticket, Deadline::never());
  EXPECT_EQ(last.times.get_future().get().hidden_seconds, 0) << "all of it came after the last";
}

TEST(CallQueue, RunsWhatIsQueuedBeforeItEnds) {
  int count = 0;
  {
    CallQueue queue(HiddenUntil::kWait);
    for (int i = 0; i < 5; ++i) queue.submit({.run = [&] { ++count; }});
  }
  EXPECT_EQ(count, 5);
}

TEST(CallQueue, GivesACallsErrorToEveryWaitForIt) {
  CallQueue queue(HiddenUntil::kWait);
  const Ticket bad = queue.submit({.run = [] { throw std::out_of_range("first"); }});
  const Ticket good = queue.submit({.run = [] {}});
  EXPECT_TRUE(queue.wait(good, Deadline::never()));
  EXPECT_THROW(queue.wait(bad, Deadline::never()), std::out_of_range);
  EXPECT_THROW(queue.wait(bad, Deadline::never()), std::out_of_range);
  EXPECT_TRUE(queue.wait(good, Deadline::never()));
}

TEST(CallQueue, HidesACallForWhichNobodyWaits) {
  CallQueue queue(HiddenUntil::kWait);
  TimedCall timed;
  queue.submit(timed.call(0, true));
  timed.has_begun.get_future().wait();
  timed.may_end.set_value();
  const CallTimes times = timed.times.get_future().get();
  EXPECT_GT(times.seconds, 0);
  EXPECT_EQ(times.hidden_seconds, times.seconds);
}

TEST(CallQueue, HidesNothingOfACallThatBeginsDuringAWait) {
  CallQueue queue(HiddenUntil::kWait);
  TimedCall first, second;
  queue.submit(first.call(0, false));
  const Ticket ticket = queue.submit(second.call(0, false));
  first.has_begun.get_future().wait();
  std::promise<void> waits;
  std::thread waiter([&] {
    waits.set_value();
    queue.wait(ticket, Deadline::never());
  });
  waits.get_future().wait();
  // The waiter's next step is the wait. Where it is late, the first call ends before; so ask again.
  while (!queue.somebody_waits()) std::this_thread::yield();
  first.may_end.set_value();
  second.may_end.set_value();
  waiter.join();
  const CallTimes times = second.times.get_future().get();
  EXPECT_NEAR(times.hidden_seconds, 0, 1e-9);
  EXPECT_GT(times.seconds, 0);
}

TEST(CallQueue, WithLastHidesCallsUntilTheStepsLastIsSubmittedWhoeverWaits) {
  CallQueue queue(HiddenUntil::kLast);
  TimedCall first, second;
  const Ticket ticket = queue.submit(first.call(0, false));
  std::thread waiter([&] { queue.wait(ticket, Deadline::never()); });
  first.has_begun.get_future().wait();
  while (!queue.somebody_waits()) std::this_thread::yield();
  first.may_end.set_value();
  const CallTimes hidden = first.times.get_future().get();
  waiter.join();
  EXPECT_EQ(hidden.hidden_seconds, hidden.seconds);
  queue.submit(second.call(0, true));
  second.may_end.set_value();
  const CallTimes exposed = second.times.get_future().get();
  EXPECT_EQ(exposed.hidden_seconds, 0);
  // The next step's calls are hidden again.
  TimedCall next;
  queue.submit(next.call(1, false));
  next.may_end.set_value();
  const CallTimes again = next.times.get_future().get();
  EXPECT_EQ(again.hidden_seconds, again.seconds);
}

}  // namespace
}  // namespace tandem::training
