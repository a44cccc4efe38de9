// SPDX-License-Identifier: Apache-2.0
//
// A unit whose call does not return: the product ends without it, and what the call still reads and
// writes is not the caller's.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <new>
#include <thread>

#include "fake_sparse_unit.h"
#include "parallel/unit_thread.h"

namespace tandem::device {
namespace {

constexpr std::chrono::milliseconds kNoGrace{1};
Deadline at_once() { return Deadline::after(std::chrono::milliseconds(1)); }

// A call that enters and does not return until the test lets it.
class Hang {
 public:
  std::function<void()> call() {
    return [this] {
      entered_.set_value();
      released_.get_future().wait();
    };
  }
  void wait_until_entered() { entered_.get_future().wait(); }
  bool has_entered() {
    return entered_.get_future().wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  void release() { released_.set_value(); }

 private:
  std::promise<void> entered_, released_;
};

// The host, which takes its time, and a card.
struct HostAndCard : Pair {
  HostAndCard() : Pair({0, 0, 1, false}, {0, 0, 1, true}, true, kNoGrace) {}
  FakeUnit &host = *first, &card = *second;
};

// Hangs in the start or in the end of a product.
TEST(HangingSparseUnit, AProductEndsWithoutItAndKeepsItsValues) {
  const Diagonal matrix(10);
  for (const bool in_start : {false, true}) {
    SCOPED_TRACE(in_start);
    Hang hang;
    HostAndCard pair;
    const auto record = pair.card.record;
    pair.whole->load(matrix.rows(), soon());
    (in_start ? pair.card.on_start : pair.card.on_finish) = hang.call();
    pair.host.on_finish = [&] { hang.wait_until_entered(); };
    auto x = std::make_unique<float>(3.0f);
    std::vector<float> y(10), later(10);
    pair.whole->start({x.get(), 1}, soon());
    const std::vector<SparsePart> parts = pair.whole->finish(y, at_once());
    *x = 100.0f;
    expect_whole(y, 3.0f);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].host_reason, "");
    EXPECT_EQ(parts[1].host_reason,
              "[device] a call of b did not return by its deadline; the device is used no more");
    pair.host.on_finish = nullptr;
    pair.multiply(-2.0f, later);
    expect_whole(later, -2.0f);
    EXPECT_EQ(pair.card.hosted, 2);
    hang.release();
    pair.whole = nullptr;  // waits for the call
    EXPECT_EQ(record->seen, std::vector{3.0f}) << "the late call reads what it was given";
    EXPECT_EQ(record->y_begin == nullptr, in_start) << "no call follows one that was given up";
    expect_whole(y, 3.0f);
    expect_whole(later, -2.0f);
  }
}

// Hangs in its measurement or in its load. False: the call was given up before it had begun.
bool loads_without_the_card(bool in_rates, Deadline deadline) {
  auto old = std::make_shared<Diagonal>(10);
  const std::weak_ptr<Diagonal> kept = old;
  SparseRows rows = old->rows();
  rows.owner = std::exchange(old, nullptr);
  Hang hang;
  HostAndCard pair;
  (in_rates ? pair.card.on_rates : pair.card.on_load) = hang.call();
  pair.whole->load(rows, deadline);
  std::vector<float> y(10);
  EXPECT_EQ(pair.multiply(2.0f, y).size(), 1u);
  expect_whole(y, 2.0f);
  const int loads = pair.host.loads;
  const Diagonal next(5);
  pair.whole->load(next.rows(), soon());
  rows = {};
  const bool has_begun = hang.has_entered();
  if (has_begun) {
    EXPECT_EQ(loads, in_rates ? 1 : 2) << "its own rows, then all";
    EXPECT_FALSE(kept.expired()) << "the call may still read it";
  }
  hang.release();
  pair.whole = nullptr;
  EXPECT_TRUE(kept.expired());
  return has_begun;
}

TEST(HangingSparseUnit, ALoadEndsWithoutItAndKeepsItsArrays) {
  for (const bool in_rates : {false, true}) {
    SCOPED_TRACE(in_rates);
    std::chrono::milliseconds patience{30};
    while (!loads_without_the_card(in_rates, Deadline::after(patience))) patience *= 4;
  }
}

// Of a host and two cards, the first of which hangs in the start of a product. False: the other one
// was too late, too.
bool late_call_reads_its_own_vector(std::chrono::milliseconds patience) {
  const Diagonal matrix(12);
  Hang hang;
  std::vector<std::unique_ptr<SparseUnit>> units;
  std::vector<FakeUnit*> fakes;
  for (const char* name : {"a", "b", "c"}) {
    auto unit = std::make_unique<FakeUnit>(name, SparseRates{0, 0, 1, false});
    fakes.push_back(unit.get());
    units.push_back(std::move(unit));
  }
  fakes[0]->on_the_host = true;
  fakes[1]->on_start = hang.call();
  fakes[0]->on_finish = [&, is_first = true]() mutable {
    if (std::exchange(is_first, false)) hang.wait_until_entered();
  };
  const auto late = fakes[1]->record;
  auto whole = std::make_unique<parallel::SharedSparseUnit>(std::move(units), kNoGrace);
  whole->load(matrix.rows(), soon());
  std::vector<float> y(12);
  float x = 3;
  whole->start({&x, 1}, soon());
  const bool is_in_time = whole->finish(y, Deadline::after(patience))[2].host_reason.empty();
  expect_whole(y, 3.0f);
  x = 8;
  whole->start({&x, 1}, soon());
  whole->finish(y, soon());
  expect_whole(y, 8.0f);
  hang.release();
  whole = nullptr;
  EXPECT_EQ(late->seen, std::vector{3.0f});
  return is_in_time;
}

TEST(HangingSparseUnit, ALateCallReadsTheVectorOfItsProduct) {
  std::chrono::milliseconds patience{10};
  while (!late_call_reads_its_own_vector(patience)) patience *= 4;
}

TEST(HangingSparseUnit, AllThatHangAreADeviceError) {
  const Diagonal matrix(10);
  Hang first, second;
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true}, false, kNoGrace);
  pair.whole->load(matrix.rows(), soon());
  pair.first->on_finish = first.call();
  pair.second->on_finish = second.call();
  std::vector<float> y(10);
  const float x = 1;
  pair.whole->start({&x, 1}, soon());
  EXPECT_THROW(pair.whole->finish(y, at_once()), DeviceError);
  EXPECT_THROW(pair.multiply(1.0f, y), DeviceError);
  first.release();
  second.release();
}

// A thread that waits for a processor is no loss.
TEST(HangingSparseUnit, AUnitThatReturnsInTheGraceStaysInUse) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true}, true);
  pair.whole->load(matrix.rows(), soon());
  const Deadline over = Deadline::after(-std::chrono::seconds(1));
  std::vector<float> y(10);
  const float x = 2;
  for (int i = 0; i < 3; ++i) {
    pair.whole->start({&x, 1}, over);
    for (const SparsePart& part : pair.whole->finish(y, over)) EXPECT_EQ(part.host_reason, "");
    expect_whole(y, x);
  }
}

TEST(HangingSparseUnit, AUnitOfTheHostWorksInPlaceInTheCallersThread) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true}, true);
  pair.whole->load(matrix.rows(), soon());
  std::vector<float> y(10);
  pair.multiply(2.0f, y);
  EXPECT_EQ(pair.first->record->finisher, std::this_thread::get_id());
  EXPECT_EQ(pair.first->record->y_begin, y.data());
  EXPECT_NE(pair.second->record->finisher, std::this_thread::get_id());
  EXPECT_NE(pair.second->record->y_begin, y.data() + 5);
}

// The second of them would wait for the first.
TEST(HangingSparseUnit, OnlyOneUnitOfTheHostWorksInTheCallersThread) {
  const Diagonal matrix(10);
  std::vector<std::unique_ptr<SparseUnit>> units;
  std::vector<std::shared_ptr<FakeUnit::Record>> records;
  for (const char* name : {"a", "b"}) {
    auto unit = std::make_unique<FakeUnit>(name, SparseRates{0, 0, 1, false});
    unit->on_the_host = true;
    records.push_back(unit->record);
    units.push_back(std::move(unit));
  }
  const auto whole = share_sparse_rows(std::move(units));
  whole->load(matrix.rows(), soon());
  std::vector<float> y(10);
  const float x = 4;
  whole->start({&x, 1}, soon());
  whole->finish(y, soon());
  expect_whole(y, x);
  EXPECT_EQ(records[0]->finisher, std::this_thread::get_id());
  EXPECT_NE(records[1]->finisher, std::this_thread::get_id());
}

TEST(HangingSparseUnit, ASecondStartWaitsForTheFirst) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  pair.whole->load(matrix.rows(), soon());
  Hang hang;
  bool is_first = true;
  pair.second->on_start = [&, call = hang.call()] {
    if (std::exchange(is_first, false)) call();
  };
  float x = 1;
  pair.whole->start({&x, 1}, soon());
  hang.wait_until_entered();
  hang.release();
  x = 5;
  pair.whole->start({&x, 1}, soon());
  std::vector<float> y(10);
  pair.whole->finish(y, soon());
  expect_whole(y, 5.0f);
  EXPECT_EQ(pair.second->record->seen, (std::vector{1.0f, 5.0f})) << "each its own vector";
}

TEST(UnitThread, WhatIsGivenUpDeliversNothing) {
  std::promise<void> entered, released;
  bool is_delivered = false, follows = false;
  {
    parallel::UnitThread thread;
    thread.post([&]() -> parallel::UnitThread::Delivery {
      entered.set_value();
      released.get_future().wait();
      return [&] { is_delivered = true; };
    });
    thread.post([&]() -> parallel::UnitThread::Delivery {
      follows = true;
      return {};
    });
    entered.get_future().wait();
    std::exception_ptr failure;
    EXPECT_FALSE(thread.wait(Deadline::Clock::now(), failure));
    released.set_value();
  }
  EXPECT_FALSE(is_delivered);
  EXPECT_FALSE(follows);
}

TEST(UnitThread, AFailureLeavesOutWhatFollowsUntilItIsTold) {
  parallel::UnitThread thread;
  int delivered = 0;
  const auto delivers = [&]() -> parallel::UnitThread::Delivery { return [&] { ++delivered; }; };
  thread.post([]() -> parallel::UnitThread::Delivery { throw Error("test", "a wrong call"); });
  thread.post(delivers);
  std::exception_ptr failure;
  ASSERT_TRUE(thread.wait(Deadline::Clock::time_point::max(), failure));
  EXPECT_NE(failure, nullptr);
  EXPECT_EQ(delivered, 0);
  thread.post(delivers);
  ASSERT_TRUE(thread.wait(soon().time_point(), failure));
  EXPECT_EQ(failure, nullptr);
  EXPECT_EQ(delivered, 1);
}

TEST(UnitThread, AFailureOfADeliveryIsToldAsThatOfItsCall) {
  parallel::UnitThread thread;
  thread.post([]() -> parallel::UnitThread::Delivery { return [] { throw std::bad_alloc(); }; });
  std::exception_ptr failure;
  ASSERT_TRUE(thread.wait(Deadline::Clock::time_point::max(), failure));
  ASSERT_NE(failure, nullptr);
  EXPECT_THROW(std::rethrow_exception(failure), std::bad_alloc);
}

}  // namespace
}  // namespace tandem::device
