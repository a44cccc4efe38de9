// SPDX-License-Identifier: Apache-2.0
//
// A matrix shared by rows over doubles: division, overlap, gathering, failures.
#include "parallel/shared_sparse_unit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <new>
#include <thread>

#include "fake_sparse_unit.h"

namespace tandem::device {
namespace {

TEST(SharedSparseUnit, EveryUnitWritesItsRows) {
  const Diagonal matrix(90);
  const Pair pair({0, 0, 2, false}, {0, 0, 1, true});
  EXPECT_EQ(pair.whole->name(), "a+b");
  pair.whole->load(matrix.rows(), soon());
  std::vector<float> y(90);
  for (const float x : {1.0f, -3.0f}) {
    const std::vector<SparsePart> parts = pair.multiply(x, y);
    for (std::size_t row = 0; row < 90; ++row) {
      ASSERT_EQ(y[row], x * static_cast<float>(row + 1)) << row;
    }
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].device, "a");
    EXPECT_EQ(parts[0].last_row, 30u);
    EXPECT_EQ(parts[0].predicted_s, 60.0) << "by its rates";
    EXPECT_EQ(parts[1].first_row, 30u);
    EXPECT_EQ(parts[1].last_row, 90u);
    EXPECT_EQ(parts[1].predicted_s, 42.0) << "its own model knows better";
  }
}

TEST(SharedSparseUnit, TransfersOfAUnitOverlapWithTheWorkOfAnother) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  pair.whole->load(matrix.rows(), soon());
  std::promise<void> computes;
  bool overlaps = false;
  pair.first->on_finish = [&] { computes.set_value(); };
  pair.second->on_start = [&] {
    overlaps = computes.get_future().wait_for(kPatience) == std::future_status::ready;
  };
  std::vector<float> y(10);
  pair.multiply(2.0f, y);
  EXPECT_TRUE(overlaps) << "the first unit computed only after the second had its vector";
  EXPECT_EQ(y.back(), 20.0f);
}

TEST(SharedSparseUnit, AUnitThatDoesNotPayIsNotCalled) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {100, 0, 1e-3, true});
  pair.second->on_start = [] { FAIL() << "it has no rows"; };
  pair.whole->load(matrix.rows(), soon());
  std::vector<float> y(10);
  EXPECT_EQ(pair.multiply(1.0f, y).size(), 1u);
  EXPECT_EQ(pair.second->loads, 0);
  EXPECT_EQ(y[9], 10.0f);
}

// Either unit, lost in either call of a product.
TEST(SharedSparseUnit, TheRowsOfALostUnitAreFinishedByTheHost) {
  const Diagonal matrix(10);
  for (const bool is_first : {false, true}) {
    for (const bool in_start : {false, true}) {
      SCOPED_TRACE(testing::Message() << is_first << in_start);
      const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
      FakeUnit &lost = is_first ? *pair.first : *pair.second,
               &left = is_first ? *pair.second : *pair.first;
      pair.whole->load(matrix.rows(), soon());
      std::vector<float> y(10, -1.0f);
      pair.multiply(2.0f, y);
      (in_start ? lost.on_start : lost.on_finish) = dies();
      int ended = 0;
      left.on_finish = [&] { ++ended; };
      for (const float x : {3.0f, -1.0f}) {
        const std::vector<SparsePart> parts = pair.multiply(x, y);
        expect_whole(y, x);
        ASSERT_EQ(parts.size(), 2u);
        const SparsePart& part = parts[is_first ? 0 : 1];
        EXPECT_NE(part.host_reason.find("the card is gone"), std::string::npos);
        EXPECT_EQ(part.last_row - part.first_row, 5u);
        EXPECT_EQ(part.predicted_s, part.host_s) << "of the host, not of the lost device";
        EXPECT_FALSE(part.is_modelled);
        EXPECT_EQ(parts[is_first ? 1 : 0].host_reason, "");
      }
      EXPECT_EQ(ended, 2) << "the other one works on";
      EXPECT_EQ(lost.hosted, 2);
      EXPECT_EQ(left.hosted, 0);
    }
  }
}

TEST(SharedSparseUnit, ALostUnitIsNotCalledAgain) {
  const Diagonal matrix(10);
  for (const bool is_first : {false, true}) {
    SCOPED_TRACE(is_first);
    const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
    FakeUnit& lost = is_first ? *pair.first : *pair.second;
    pair.whole->load(matrix.rows(), soon());
    std::vector<float> y(10);
    lost.on_start = dies();
    lost.on_finish = [] { FAIL() << "a product that did not start has no end"; };
    pair.multiply(1.0f, y);
    lost.on_start = lost.on_load = lost.on_rates = [] { FAIL() << "it is lost"; };
    pair.multiply(2.0f, y);
    expect_whole(y, 2.0f);
    pair.whole->load(matrix.rows(), soon());  // divided among those that are left
    const std::vector<SparsePart> parts = pair.multiply(3.0f, y);
    expect_whole(y, 3.0f);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].device, is_first ? "b" : "a");
    EXPECT_EQ(parts[0].last_row, 10u);
    EXPECT_EQ(lost.hosted, 2);
  }
}

TEST(SharedSparseUnit, AUnitLostInALoadLeavesItsRowsToTheOthers) {
  const Diagonal matrix(10);
  for (const bool in_rates : {false, true}) {
    const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
    (in_rates ? pair.second->on_rates : pair.second->on_load) = dies();
    pair.whole->load(matrix.rows(), soon());
    std::vector<float> y(10);
    EXPECT_EQ(pair.multiply(1.0f, y).size(), 1u);
    expect_whole(y, 1.0f);
    EXPECT_EQ(pair.first->loads, in_rates ? 1 : 2) << "its own rows, then all";
    EXPECT_DOUBLE_EQ(pair.whole->rates(matrix.rows(), soon()).entry_s, 1) << "of one unit";
  }
}

TEST(SharedSparseUnit, ALoadWaitsForAProductThatNobodyFinished) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  pair.whole->load(matrix.rows(), soon());
  pair.second->on_start = dies();
  pair.second->on_rates = [] { FAIL() << "it is lost"; };
  const float x = 1;
  pair.whole->start({&x, 1}, soon());
  pair.whole->load(matrix.rows(), soon());
  std::vector<float> y(10);
  EXPECT_EQ(pair.multiply(2.0f, y).size(), 1u);
  expect_whole(y, 2.0f);
}

TEST(SharedSparseUnit, AnErrorOfAProductThatNobodyFinishedIsNotTheNextLoads) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  pair.whole->load(matrix.rows(), soon());
  pair.second->on_start = [] { throw Error("test", "a wrong call"); };
  const float x = 1;
  pair.whole->start({&x, 1}, soon());
  pair.whole->load(matrix.rows(), soon());
  pair.second->on_start = nullptr;
  std::vector<float> y(10);
  EXPECT_EQ(pair.multiply(2.0f, y).size(), 2u);
  expect_whole(y, 2.0f);
}

TEST(SharedSparseUnit, WithoutAnyUnitLeftItFailsForGood) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  pair.whole->load(matrix.rows(), soon());
  pair.first->on_start = pair.second->on_finish = dies();
  std::vector<float> y(10);
  EXPECT_THROW(pair.multiply(1.0f, y), DeviceError);
  EXPECT_THROW(pair.multiply(1.0f, y), DeviceError);
  EXPECT_THROW(pair.whole->load(matrix.rows(), soon()), DeviceError);
  EXPECT_THROW(pair.whole->rates(matrix.rows(), soon()), DeviceError);
  EXPECT_EQ(pair.second->hosted, 0);
}

TEST(SharedSparseUnit, AllUnitsLostInALoadAreADeviceError) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  pair.first->on_load = pair.second->on_load = dies();
  EXPECT_THROW(pair.whole->load(matrix.rows(), soon()), DeviceError);
}

TEST(SharedSparseUnit, AnErrorOfACallIsToldOnceAllHaveEnded) {
  const Diagonal matrix(10);
  std::vector<float> y(10);
  int finished = 0;
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  pair.whole->load(matrix.rows(), soon());
  pair.first->on_finish = [] { throw Error("test", "a wrong call"); };
  pair.second->on_finish = [&] { ++finished; };
  try {
    pair.multiply(1.0f, y);
    FAIL();
  } catch (const DeviceError&) {
    FAIL() << "no device is lost";
  } catch (const Error&) {
    EXPECT_EQ(finished, 1) << "the second has ended as well";
  }
  pair.first->on_finish = nullptr;
  pair.multiply(2.0f, y);
  expect_whole(y, 2.0f);
}

TEST(SharedSparseUnit, OnTheHostEveryRowHasTheOrderOfItsUnit) {
  const Diagonal matrix(9);
  const Pair pair({0, 0, 2, false}, {0, 0, 1, true});
  pair.whole->load(matrix.rows(), soon());
  std::vector<float> y(9);
  const float x = 5;
  pair.whole->on_host(matrix.rows(), {&x, 1}, y);
  expect_whole(y, 5.0f);
  EXPECT_EQ(pair.first->hosted, 1);
  EXPECT_EQ(pair.second->hosted, 1);
}

TEST(SharedSparseUnit, ALoadThatFailsLeavesNoRows) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  std::vector<float> y(10);
  EXPECT_THROW(pair.multiply(1.0f, y), Error) << "nothing was loaded yet";
  pair.whole->load(matrix.rows(), soon());
  pair.second->on_load = [] { throw Error("test", "too large"); };
  EXPECT_THROW(pair.whole->load(matrix.rows(), soon()), Error);
  EXPECT_THROW(pair.multiply(1.0f, y), Error);
  pair.second->on_load = nullptr;
  pair.whole->load(matrix.rows(), soon());
  pair.multiply(2.0f, y);
  EXPECT_EQ(y.back(), 20.0f);
}

TEST(SharedSparseUnit, RatesOfAllAddUp) {
  const Diagonal matrix(10);
  const Pair pair({0, 2, 2, false}, {5, 1, 2, true});
  const SparseRates rates = pair.whole->rates(matrix.rows(), soon());
  EXPECT_DOUBLE_EQ(rates.fixed_s, 5);
  EXPECT_DOUBLE_EQ(rates.row_s, 2.0 / 3);
  EXPECT_DOUBLE_EQ(rates.entry_s, 1);
}

// Whether memory is found short by a measurement or by a load.
TEST(SharedSparseUnit, AUnitShortOfMemoryGetsFewerRowsAndStaysInUse) {
  const Diagonal matrix(100);
  for (const bool measures : {false, true}) {
    for (const bool is_first : {false, true}) {
      SCOPED_TRACE(testing::Message() << measures << is_first);
      const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
      FakeUnit& small = is_first ? *pair.first : *pair.second;
      small.room = 20;
      small.measures_room = measures;
      pair.whole->load(matrix.rows(), soon());
      std::vector<float> y(100);
      std::vector<SparsePart> parts = pair.multiply(2.0f, y);
      expect_whole(y, 2.0f);
      ASSERT_EQ(parts.size(), 2u);
      EXPECT_EQ(parts[is_first ? 0 : 1].entries, 12u) << "a quarter of its half, or of all";
      EXPECT_EQ(parts[0].host_reason + parts[1].host_reason, "");
      small.room = 50;
      pair.whole->load(matrix.rows(), soon());
      parts = pair.multiply(3.0f, y);
      expect_whole(y, 3.0f);
      EXPECT_EQ(parts[is_first ? 0 : 1].entries, 50u) << "there is room again";
      EXPECT_EQ(pair.first->hosted + pair.second->hosted, 0);
    }
  }
}

TEST(SharedSparseUnit, RowsForWhichNoneHasRoomAreTheHosts) {
  const Diagonal matrix(100);
  for (const bool measures : {false, true}) {
    const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
    pair.first->room = 30;
    pair.second->room = 0;
    pair.first->measures_room = pair.second->measures_room = measures;
    pair.whole->load(matrix.rows(), soon());
    std::vector<float> y(100);
    const std::vector<SparsePart> parts = pair.multiply(2.0f, y);
    expect_whole(y, 2.0f);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].last_row, 25u);
    EXPECT_EQ(parts[0].host_reason, "");
    EXPECT_EQ(parts[1].first_row, 25u);
    EXPECT_EQ(parts[1].last_row, 100u);
    EXPECT_EQ(parts[1].entries, 75u);
    EXPECT_NE(parts[1].host_reason.find("no device has room"), std::string::npos);
    EXPECT_EQ(pair.first->hosted, 1);
    const float x = 4;
    std::ranges::fill(y, -1.0f);
    pair.whole->on_host(matrix.rows(), {&x, 1}, y);
    expect_whole(y, 4.0f);
  }
}

TEST(SharedSparseUnit, WithoutRoomForAnyRowTheHostComputesAll) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  pair.first->room = pair.second->room = 0;
  pair.whole->load(matrix.rows(), soon());
  std::vector<float> y(10);
  EXPECT_EQ(pair.multiply(2.0f, y).size(), 1u);
  expect_whole(y, 2.0f);
  EXPECT_THROW(pair.whole->rates(matrix.rows(), soon()), SparseRoomError);
  pair.second->room = 10;
  EXPECT_DOUBLE_EQ(pair.whole->rates(matrix.rows(), soon()).entry_s, 1) << "of the second alone";
}

// Either unit, in either call of a product, by either error.
TEST(SharedSparseUnit, AUnitShortOfMemoryInAProductLeavesThatOneToTheHost) {
  const Diagonal matrix(10);
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    const bool is_first = (round & 1) != 0, in_start = (round & 2) != 0, of_host = (round & 4) != 0;
    const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
    FakeUnit& small = is_first ? *pair.first : *pair.second;
    pair.whole->load(matrix.rows(), soon());
    std::vector<float> y(10);
    const auto runs_out = [of_host] {
      if (of_host) throw std::bad_alloc();
      throw SparseRoomError("test", "another program took it");
    };
    (in_start ? small.on_start : small.on_finish) = runs_out;
    std::vector<SparsePart> parts = pair.multiply(2.0f, y);
    expect_whole(y, 2.0f);
    ASSERT_EQ(parts.size(), 2u);
    const std::string& reason = parts[is_first ? 0 : 1].host_reason;
    EXPECT_NE(reason.find(of_host ? "out of host memory" : "took it"), std::string::npos) << reason;
    EXPECT_EQ(parts[is_first ? 1 : 0].host_reason, "");
    EXPECT_EQ(small.hosted, 1);
    small.on_start = small.on_finish = nullptr;
    parts = pair.multiply(3.0f, y);
    expect_whole(y, 3.0f);
    EXPECT_EQ(parts[0].host_reason + parts[1].host_reason, "");
    EXPECT_EQ(small.hosted, 1) << "it computes again";
    EXPECT_EQ(small.loads, 1);
  }
}

// One that hangs until its deadline leaves the others theirs.
TEST(SharedSparseUnit, UnitsDivideTheTimeOfTheCaller) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  FakeUnit &a = *pair.first, &b = *pair.second;
  const Deadline whole = soon();
  const auto end = whole.time_point();
  pair.whole->load(matrix.rows(), whole);
  EXPECT_LT(a.ends.rates, b.ends.rates) << "measured one after the other";
  EXPECT_LT(b.ends.rates, a.ends.load) << "then loaded";
  EXPECT_LT(b.ends.load, end) << "time for the rows of one that is lost";
  const float x = 1;
  std::vector<float> y(10);
  pair.whole->start({&x, 1}, whole);
  pair.whole->finish(y, whole);
  EXPECT_LT(a.ends.start, end) << "time for the end of the others";
  EXPECT_LT(b.ends.start, end);
  EXPECT_EQ(a.ends.finish, end);
  EXPECT_EQ(b.ends.finish, end);
  const auto first_load = b.ends.load;
  a.on_load = dies();
  pair.whole->load(matrix.rows(), whole);
  EXPECT_GT(b.ends.load, first_load);
  EXPECT_EQ(b.ends.load, end) << "nobody is left for whom to keep time";
  pair.whole->load(matrix.rows(), Deadline::never());
  EXPECT_EQ(b.ends.rates, Deadline::never().time_point());
}

// The sleeps end a unit's own part of the time, however slow the machine is.
TEST(SharedSparseUnit, AUnitThatHangsInItsMeasurementLosesOnlyItself) {
  const Diagonal matrix(10);
  const Pair pair({0, 0, 1, false}, {0, 0, 1, true});
  FakeUnit &a = *pair.first, &b = *pair.second;
  a.on_rates = [&] {
    std::this_thread::sleep_until(a.ends.rates);
    throw DeviceError("test", "no answer by the deadline");
  };
  const Deadline whole = Deadline::after(std::chrono::milliseconds(90));
  pair.whole->load(matrix.rows(), whole);
  EXPECT_GT(b.ends.rates, a.ends.rates);
  EXPECT_EQ(b.ends.load, whole.time_point());
  std::vector<float> y(10);
  EXPECT_EQ(pair.multiply(2.0f, y).size(), 1u);
  expect_whole(y, 2.0f);
}

TEST(SharedSparseUnit, NeedsADevice) { EXPECT_THROW(share_sparse_rows({}), Error); }

}  // namespace
}  // namespace tandem::device
