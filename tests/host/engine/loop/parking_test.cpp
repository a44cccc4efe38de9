// SPDX-License-Identifier: Apache-2.0
//
// Preempted sequences whose KV waits in host memory. The virtual units keep tokens in their pages,
// and the next token follows from them: what is restored wrongly gives other tokens.
#include <gmock/gmock.h>

#include "host/engine/loop/virtual_time_rig.h"

namespace tandem::engine {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Parking : public VirtualTime {
 protected:
  Parking() {
    options_.prefix_cache = false;
    options_.parking_bytes = 1 << 20;
    runner_.before_run = [this](std::span<const RunnerItem> items) {
      for (const RunnerItem& item : items) num_rows_ += item.tokens.size();
    };
  }
  // More than the pages hold: sequences are preempted all the time.
  std::vector<Request> crowd(std::uint32_t count = 60) const {
    std::vector<Request> requests;
    for (std::uint32_t i = 0; i < count; ++i) {
      requests.push_back(request(0, 20 + i % 50, 20 + static_cast<int>(i % 5) * 12, i));
    }
    return requests;
  }
  std::uint64_t rows_of_crowd() {
    num_rows_ = 0;
    served_.clear();
    start(two_units({.num_pages = 12}, {.num_pages = 9}));
    for (const Request& added : crowd()) submit(added);
    while (!loop_->idle()) step();
    expect_all_served();
    EXPECT_EQ(pages_used(), 0u);
    EXPECT_GT(loop_->status().preemptions, 4u);
    return num_rows_;
  }

  std::uint64_t num_rows_ = 0;
};

TEST_F(Parking, WhatWasComputedIsNotComputedAgain) {
  std::uint64_t needed = 0;
  for (const Request& r : crowd()) {
    needed += r.prompt.size() + static_cast<std::size_t>(r.max_tokens) - 1;
  }
  EXPECT_EQ(rows_of_crowd(), needed);
  const EngineStatus status = loop_->status();
  EXPECT_EQ(status.parked_sequences, status.preemptions);
  EXPECT_GT(status.restored_tokens, 100u);
  options_.parking_bytes = 0;
  EXPECT_GT(rows_of_crowd(), needed + 100);
  EXPECT_EQ(loop_->status().parked_sequences, 0u);
}

TEST_F(Parking, WithAPrefixCacheAndSharesOfPagesTheTokensAreThoseOfTheModel) {
  options_.prefix_cache = true;
  options_.placement = Placement::kPages;
  options_.kv_moves = true;
  rows_of_crowd();
  EXPECT_GT(loop_->status().restored_tokens, 0u);
}

TEST_F(Parking, MemoryThatIsFullLeavesOthersToBeComputed) {
  options_.parking_bytes = 3 * device::page_image_bytes(kVirtualGeometry);
  rows_of_crowd();
  const EngineStatus status = loop_->status();
  EXPECT_LT(status.parked_sequences, status.preemptions);
}

TEST_F(Parking, AllSequencesTogetherKeepTheLimitOfMemory) {
  options_.parking_bytes = 3 * device::page_image_bytes(kVirtualGeometry);
  start(two_units({.num_pages = 12}, {.num_pages = 9}));
  for (const Request& added : crowd()) submit(added);
  while (!loop_->idle()) {
    step();
    ASSERT_LE(loop_->status().parked_bytes, options_.parking_bytes);
  }
  EXPECT_GT(loop_->status().parked_sequences, 0u);
}

TEST_F(Parking, ACancelledSequenceLeavesItsMemoryToOthers) {
  options_.parking_bytes = 8 * device::page_image_bytes(kVirtualGeometry);
  for (int round = 0; round < 20; ++round) {
    if (round == 0) start(two_units({.num_pages = 7}, {.num_pages = 1}));
    const RequestId first = submit(request(0, 40, 60, 1));
    const RequestId second = submit(request(0, 40, 60, 2));
    const std::uint64_t before = loop_->status().parked_sequences;
    while (loop_->status().parked_sequences == before) {
      ASSERT_FALSE(loop_->idle()) << "round " << round << ": nothing was parked";
      step();
    }
    loop_->cancel(second);
    loop_->cancel(first);
    while (!loop_->idle()) step();
  }
}

TEST_F(Parking, AUnitThatDiesWhileItIsCopiedCostsNoToken) {
  for (const milliseconds at : {milliseconds(3000), milliseconds(8000), milliseconds(20000)}) {
    served_.clear();
    const Clock::TimePoint dies_at = clock_.now() + at;
    start(two_units({.num_pages = 14, .dies_at = dies_at, .page_time = milliseconds(50)},
                    {.num_pages = 12, .page_time = milliseconds(50)}));
    for (const Request& added : crowd(30)) submit(added);
    while (!loop_->idle()) step();
    expect_all_served();
    EXPECT_FALSE(loop_->status().units[0].alive);
    EXPECT_EQ(pages_used(), 0u);
  }
}

// It is alive and does not copy a page in time: what it holds is computed again.
TEST_F(Parking, AUnitThatIsSlowToCopyIsNotLostAndNotAskedAgain) {
  options_.device_timeout = milliseconds(100);
  start(two_units({.num_pages = 14, .page_time = seconds(1)}, {.num_pages = 12}));
  for (const Request& added : crowd(30)) submit(added);
  while (!loop_->idle()) step();
  expect_all_served();
  EXPECT_TRUE(loop_->status().units[0].alive);
  EXPECT_TRUE(loop_->status().units[1].alive);
  EXPECT_GT(loop_->status().parked_sequences, 0u) << "from the other unit";
}

// The pages are out and no longer come in: a late copy may still write one, so no sequence gets it.
TEST_F(Parking, APageThatIsLateIsNotUsedAgain) {
  std::vector<NamedUnit> units = two_units({.num_pages = 14}, {.num_pages = 1});
  auto& slow = dynamic_cast<VirtualUnit&>(*units[0].unit);
  start(std::move(units));
  for (const Request& added : crowd(12)) submit(added);
  while (loop_->status().parked_sequences == 0) {
    ASSERT_FALSE(loop_->idle());
    step();
  }
  slow.set_page_time(seconds(200));
  const Clock::TimePoint begin = clock_.now();
  while (!loop_->idle()) step();
  expect_all_served();
  EXPECT_TRUE(loop_->status().units[0].alive);
  EXPECT_EQ(pages_used(), 0u);
  EXPECT_EQ(loop_->status().units[0].pages_total, 13u) << "one page is withheld";
  EXPECT_EQ(loop_->max_request_tokens(), 14 * kVirtualGeometry.page_tokens)
      << "a request that needs all 15 pages would wait forever";
  EXPECT_EQ(loop_->status().parked_bytes, 0u);
  EXPECT_LT(clock_.now() - begin, seconds(100));
}

// The copy may still arrive, so the page does not go back to its pool.
TEST_F(Parking, APageIsLateEvenIfTheHealthCheckFails) {
  VirtualUnit unit(kVirtualGeometry, clock_, {.check_fails = true});
  KvCache kv{16, Placement::kSequences, false};
  for (int i = 0; i < 2; ++i) kv.add_unit(unit.capacity().num_pages, 1e9);
  PageTable table;
  ASSERT_TRUE(kv.extend(table, 16));
  const auto at = [&](int) -> device::AttentionUnit& { return unit; };
  KvParking parking(1 << 20, kVirtualGeometry, seconds(1), clock_, at);
  ASSERT_EQ(parking.park(1, table, 16), -1);
  unit.set_page_time(seconds(1));
  EXPECT_EQ(parking.restore(1, table, 0).late, table.blocks.front());
  KvMover mover(kv, kVirtualGeometry, seconds(1), clock_);
  VirtualUnit from(kVirtualGeometry, clock_, {});
  PageTable* tables[] = {&table};
  EXPECT_EQ(mover.move({0, 0, 1, 1}, from, unit, tables, true).lost_unit, -1);
  EXPECT_EQ(kv.unit_pages(1).used, 0u);
  EXPECT_EQ(kv.unit_pages(1).total, unit.capacity().num_pages - 1);
  EXPECT_EQ(kv.num_pages(), 2 * unit.capacity().num_pages - 1);
}

// Ten sequences give way at once, and the unit of all of them gives no answer: one short wait.
TEST_F(Parking, AUnitThatHangsIsWaitedForOnce) {
  options_.device_timeout = seconds(100);
  options_.max_running = 10;
  start(two_units({.page_time = seconds(200)}, {}));
  for (std::uint32_t i = 0; i < 10; ++i) {
    Request worse = request(0, 20, 20, i);
    worse.priority = 1;
    submit(worse);
  }
  for (int i = 0; i < 3; ++i) step();
  const Clock::TimePoint begin = clock_.now();
  for (std::uint32_t i = 0; i < 10; ++i) submit(request(0, 20, 20, 20 + i));
  step();
  EXPECT_GE(clock_.now() - begin, kPatience);
  EXPECT_LT(clock_.now() - begin, seconds(10)) << "not the device timeout";
  while (!loop_->idle()) step();
  expect_all_served();
}

TEST_F(Parking, ASequenceThatNoLongerFitsLeavesItsMemoryToOthers) {
  const Clock::TimePoint dies_at(std::chrono::hours(1));
  start(two_units({.num_pages = 8, .dies_at = dies_at}, {.num_pages = 1}));
  submit(request(0, 60, 60, 1));
  submit(request(0, 60, 60, 2));
  while (loop_->status().parked_bytes == 0) {
    ASSERT_FALSE(loop_->idle());
    step();
  }
  clock_.advance_to(dies_at);
  while (!loop_->idle()) step();
  EXPECT_EQ(loop_->status().parked_bytes, 0u);
}

}  // namespace
}  // namespace tandem::engine
