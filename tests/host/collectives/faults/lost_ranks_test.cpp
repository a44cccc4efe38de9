// SPDX-License-Identifier: Apache-2.0
//
// Ranks that die, hang or come late: an error with rank and phase before the deadline on every
// survivor, and a smaller group that works.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <new>

#include "collectives/aggregator/aggregator.h"
#include "host/collectives/api/groups.h"

namespace tandem::collectives::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ReduceOptions options_with(milliseconds timeout) {
  ReduceOptions options;
  options.timeout = timeout;
  return options;
}

SparseTensor reduce_one(Group& group, milliseconds timeout) {
  static const std::vector<std::uint32_t> kIndices = {3};
  static const std::vector<std::uint64_t> kValues = {1};
  return sparse_allreduce(group, SparseView::of(kIndices, kValues, 8), options_with(timeout));
}

void expect_sum(const SparseTensor& sum, std::uint64_t expected) {
  EXPECT_EQ(entries_of(sum), (Entries{{3, expected}}));
}

// Ends a rank in the middle of a call: its transport is destroyed while peers count on it.
class DyingAggregator final : public Aggregator {
 public:
  std::string_view name() const override { return "dying"; }
  SparseVector aggregate(std::span<const SparseVector>, Reduction, Deadline) override {
    throw std::bad_alloc();
  }
  AggregatorStatistics statistics() const override { return {}; }
};

TEST(LostRanks, SurvivorsOfADeathFailBeforeTheDeadlineAndFormTheSmallerGroup) {
  constexpr int kDying = 2;
  std::atomic<int> num_done{0};
  const auto results = run_groups(5, [&](Group& group) {
    expect_sum(reduce_one(group, seconds(30)), 5);
    ++num_done;
    if (group.rank() == kDying) {
      while (num_done < 5) std::this_thread::yield();
      return;  // its group, and with it its transport, is destroyed
    }
    const auto start = std::chrono::steady_clock::now();
    const RankResult lost = outcome_of([&] { reduce_one(group, seconds(60)); });
    EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(60));
    EXPECT_EQ(lost.outcome, Outcome::kTransportError) << lost.text;
    EXPECT_NE(lost.text.find("rank 2 has left"), std::string::npos) << lost.text;
    EXPECT_NE(lost.text.find("phase header exchange"), std::string::npos) << lost.text;
    EXPECT_TRUE(group.broken());

    const RankResult later = outcome_of([&] { barrier(group); });
    EXPECT_EQ(later.outcome, Outcome::kTransportError);
    EXPECT_NE(later.text.find("shrink()"), std::string::npos) << later.text;

    Group smaller = group.shrink(Deadline::after(seconds(30)));
    EXPECT_EQ(smaller.world(), 4);
    EXPECT_EQ(smaller.rank(), group.rank() - (group.rank() > kDying ? 1 : 0));
    for (int call = 0; call < 3; ++call) expect_sum(reduce_one(smaller, seconds(30)), 4);
    barrier(smaller);
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(LostRanks, ADeathInsideEverySchemeIsNoticed) {
  for (const Scheme* scheme : all_schemes()) {
    // The rank leaves before its first message of the scheme.
    auto transports = transport::inproc::make_world(5);
    std::vector<RankResult> results(5);
    std::atomic<int> num_started{0};
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < 5; ++rank) {
      threads.emplace_back([&, rank, transport = std::move(transports[rank])]() mutable {
        const Deadline deadline = Deadline::after(seconds(60));
        Communicator ranks(*transport, 0, deadline);
        ranks.all_gather("start", new_message());
        ++num_started;
        while (num_started < 5) std::this_thread::yield();
        if (rank == 3) return;
        SparseVector own({64, 1}, DType::kU64);
        own.resize(1);
        own.indices<std::uint32_t>()[0] = static_cast<std::uint32_t>(rank);
        own.values<std::uint64_t>()[0] = 1;
        SchemeSettings settings;
        settings.wire = DType::kU64;
        SchemeMemory memory;
        const auto aggregator = make_cpu_aggregator();
        results[rank] = outcome_of(
            [&] { scheme->allreduce(ranks, std::move(own), settings, memory, *aggregator); });
        if (results[rank].outcome != Outcome::kDone) transport->abort(results[rank].text);
      });
    }
    for (std::thread& thread : threads) thread.join();
    bool noticed = false;
    for (const RankResult& result : results) {
      if (result.outcome == Outcome::kDone) continue;
      EXPECT_EQ(result.outcome, Outcome::kTransportError) << result.text;
      EXPECT_NE(result.text.find("phase"), std::string::npos) << result.text;
      noticed |= result.text.find("rank 3 has left") != std::string::npos;
    }
    EXPECT_TRUE(noticed) << scheme->name();
  }
}

TEST(LostRanks, AHangingRankIsATimeoutThatNamesItAndIsLeftBehind) {
  std::atomic<bool> over{false};
  const auto results = run_groups(4, [&](Group& group) {
    expect_sum(reduce_one(group, seconds(30)), 4);  // so that all are there when rank 1 hangs
    if (group.rank() == 1) {
      while (!over) std::this_thread::sleep_for(milliseconds(5));
      EXPECT_THROW(group.shrink(Deadline::after(seconds(1))), Error);  // knows nothing yet
      EXPECT_THROW(barrier(group), TransportError);
      EXPECT_THROW(group.shrink(Deadline::after(seconds(1))), TransportError);  // too late
      return;
    }
    const RankResult hung = outcome_of([&] { reduce_one(group, seconds(2)); });
    EXPECT_EQ(hung.outcome, Outcome::kTransportError);
    // Directly, or among those that a waiting rank has not heard from.
    const bool named = hung.text.find("no message from rank 1") != std::string::npos ||
                       hung.text.find("not heard from ranks 0, 1") != std::string::npos ||
                       hung.text.find("not heard from ranks 1, 2") != std::string::npos;
    EXPECT_TRUE(named) << hung.text;
    EXPECT_NE(hung.text.find("phase header exchange"), std::string::npos) << hung.text;
    Group smaller = group.shrink(Deadline::after(seconds(3)));
    EXPECT_EQ(smaller.world(), 3);
    expect_sum(reduce_one(smaller, seconds(30)), 3);
    over = true;
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(LostRanks, ALateRankIsFineBeforeTheDeadlineAndAnErrorAfterIt) {
  const auto in_time = run_groups(3, [](Group& group) {
    if (group.rank() == 2) std::this_thread::sleep_for(milliseconds(100));
    expect_sum(reduce_one(group, seconds(30)), 3);
  });
  for (const RankResult& result : in_time) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;

  std::atomic<int> failed{0};
  const auto too_late = run_groups(3, [&](Group& group) {
    expect_sum(reduce_one(group, seconds(30)), 3);
    if (group.rank() == 2) {
      while (failed < 2) std::this_thread::sleep_for(milliseconds(5));
    }
    const RankResult result = outcome_of([&] { reduce_one(group, seconds(1)); });
    EXPECT_EQ(result.outcome, Outcome::kTransportError) << result.text;
    EXPECT_NE(result.text.find("rank 2"), std::string::npos) << result.text;
    ++failed;
  });
  for (const RankResult& result : too_late) EXPECT_EQ(result.outcome, Outcome::kDone);
}

TEST(LostRanks, RepeatedFailuresShrinkAgain) {
  std::array<std::atomic<int>, 6> num_done{};  // by world
  const auto results = run_groups(5, [&](Group& group) {
    std::unique_ptr<Group> smaller;
    Group* present = &group;
    for (int world = 5; world > 1; --world) {
      expect_sum(reduce_one(*present, seconds(30)), static_cast<std::uint64_t>(world));
      ++num_done[static_cast<std::size_t>(world)];
      while (num_done[static_cast<std::size_t>(world)] < world) std::this_thread::yield();
      if (present->rank() == world / 2) return;
      EXPECT_THROW(reduce_one(*present, seconds(60)), TransportError);
      smaller = std::make_unique<Group>(present->shrink(Deadline::after(seconds(30))));
      present = smaller.get();
      ASSERT_EQ(present->world(), world - 1);
    }
    expect_sum(reduce_one(*present, seconds(30)), 1);
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(LostRanks, NoMemoryForAnInputIsAnAgreedErrorAndTheGroupGoesOn) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers end the process where operator new would throw";
#endif
  const auto results = run_groups(3, [](Group& group) {
    std::vector<float> dense(4);
    // A dense working copy of 2^58 bytes: no machine has them. Nothing of it is read.
    DenseView huge{DType::kF32, std::size_t{1} << 56, dense.data()};
    if (group.rank() != 1) huge.num_values = 4;
    const RankResult result = outcome_of([&] { allreduce(group, huge); });
    EXPECT_EQ(result.outcome, Outcome::kError) << result.text;
    EXPECT_NE(result.text.find("rank 1: out of memory"), std::string::npos) << result.text;
    expect_sum(reduce_one(group, seconds(30)), 3);
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(LostRanks, NoMemoryInTheMiddleAbortsTheGroupAndSaysWhy) {
  const auto results = run_groups(3, [](Group& group) {
    DyingAggregator dying;
    const std::vector<std::uint32_t> indices = {3, 7};
    const std::vector<std::uint64_t> values = {1, 1};
    ReduceOptions options = options_with(seconds(60));
    if (group.rank() == 1) options.aggregator = &dying;
    const RankResult result = outcome_of([&] {
      sparse_reduce_scatter(group, SparseView::of(indices, values, 8), options);
      barrier(group, options);
    });
    if (group.rank() == 1) {
      EXPECT_EQ(result.outcome, Outcome::kOther);  // std::bad_alloc
    } else {
      EXPECT_EQ(result.outcome, Outcome::kTransportError);
      EXPECT_NE(result.text.find("rank 1 is out of memory"), std::string::npos) << result.text;
    }
    EXPECT_TRUE(group.broken());
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(LostRanks, AnAbortByTheUserReachesAllWithItsReason) {
  const auto results = run_groups(4, [](Group& group) {
    if (group.rank() == 3) {
      group.abort("the checkpoint is gone");
      return;
    }
    const RankResult result = outcome_of([&] { reduce_one(group, seconds(60)); });
    EXPECT_EQ(result.outcome, Outcome::kTransportError);
    EXPECT_NE(result.text.find("the checkpoint is gone"), std::string::npos) << result.text;
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(LostRanks, AReasonThatIsPassedOnStaysOneSentence) {
  const auto results = run_groups(4, [](Group& group) {
    if (group.rank() == 0) return group.abort("enough");
    const RankResult result = outcome_of([&] { barrier(group); });
    // Who has not been heard from by then may follow within the brackets.
    EXPECT_TRUE(result.text.starts_with(
        "[collectives] barrier: rank 0 aborted: enough (in phase header exchange"))
        << result.text;
    EXPECT_EQ(result.text.find(") ("), std::string::npos) << result.text;
    EXPECT_EQ(result.text.find("aborted"), result.text.rfind("aborted")) << result.text;
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
  const TransportError relayed(
      TransportError::Kind::kAborted, 2,
      "rank 2 aborted: barrier: rank 0 aborted: no message from rank 3 (in phase push)");
  const TransportError cause = first_cause(relayed);
  EXPECT_EQ(cause.peer(), 0);
  EXPECT_EQ(plain_text(cause), "rank 0 aborted: no message from rank 3 (in phase push)");
  const TransportError late(TransportError::Kind::kTimeout, 3, "rank 1 aborted: not an abort");
  EXPECT_EQ(first_cause(late).peer(), 3);
}

// An aggregator that takes its time: meanwhile the group breaks.
class SlowAggregator final : public Aggregator {
 public:
  std::string_view name() const override { return "slow"; }
  SparseVector aggregate(std::span<const SparseVector> parts, Reduction reduction,
                         Deadline) override {
    begun = true;
    while (!over) std::this_thread::sleep_for(milliseconds(1));
    return merge(parts, reduction);
  }
  AggregatorStatistics statistics() const override { return {}; }
  std::atomic<bool> begun{false}, over{false};
};

TEST(LostRanks, ShrinkWaitsForACallInFlightWithinItsDeadline) {
  const auto results = run_groups(1, [](Group& group) {
    SlowAggregator slow;
    ReduceOptions options = options_with(seconds(60));
    options.aggregator = &slow;
    const std::vector<std::uint32_t> indices = {3};
    const std::vector<std::uint64_t> values = {1};
    const auto [part, call] =
        sparse_reduce_scatter_async(group, SparseView::of(indices, values, 8), options);
    while (!slow.begun) std::this_thread::yield();
    group.abort("enough");
    const RankResult early = outcome_of([&] { group.shrink(Deadline::after(milliseconds(20))); });
    EXPECT_EQ(early.outcome, Outcome::kTransportError);
    EXPECT_NE(early.text.find("still runs on rank 0"), std::string::npos) << early.text;
    slow.over = true;
    Group smaller = group.shrink(Deadline::after(seconds(60)));
    expect_sum(reduce_one(smaller, seconds(30)), 1);
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

// Fails as told in the middle of a call.
class FailingAggregator final : public Aggregator {
 public:
  explicit FailingAggregator(bool device) : device_(device) {}
  std::string_view name() const override { return "failing"; }
  SparseVector aggregate(std::span<const SparseVector>, Reduction, Deadline) override {
    if (device_) throw DeviceError("card", "lost");
    throw Error("card", "a bug");
  }
  AggregatorStatistics statistics() const override { return {}; }

 private:
  bool device_;
};

TEST(LostRanks, AnErrorOfTheOwnRankIsLocalAndNamesIt) {
  const auto results = run_groups(3, [](Group& group) {
    FailingAggregator failing(false);
    ReduceOptions options = options_with(seconds(60));
    if (group.rank() == 1) options.aggregator = &failing;
    const std::vector<std::uint32_t> indices = {3, 7};
    const std::vector<std::uint64_t> values = {1, 1};
    const RankResult result = outcome_of([&] {
      sparse_reduce_scatter(group, SparseView::of(indices, values, 8), options);
      barrier(group, options);
    });
    EXPECT_EQ(result.outcome, Outcome::kTransportError) << result.text;
    EXPECT_NE(result.text.find("rank 1 failed: "), std::string::npos) << result.text;
    EXPECT_NE(result.text.find("a bug"), std::string::npos) << result.text;
    EXPECT_EQ(result.kind,
              group.rank() == 1 ? TransportError::Kind::kLocal : TransportError::Kind::kAborted);
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(LostRanks, ALostDeviceIsReplacedByTheCpuAndShowsInTheReport) {
  const auto results = run_groups(3, [](Group& group) {
    FailingAggregator failing(true);
    ReduceOptions options = options_with(seconds(60));
    if (group.rank() == 1) options.aggregator = &failing;
    const std::uint64_t expected = group.rank() == 1 ? 1 : 0;
    const std::vector<std::uint32_t> indices = {3, 7};
    const std::vector<std::uint64_t> values = {1, 1};
    sparse_reduce_scatter(group, SparseView::of(indices, values, 8), options);
    EXPECT_EQ(last_report(group).aggregator_fallbacks, expected);
    options.scheme = "balanced_parallelism";
    sparse_allreduce(group, SparseView::of(indices, values, 8), options);
    EXPECT_EQ(last_report(group).aggregator_fallbacks, expected);
    options.aggregator = nullptr;
    sparse_allreduce(group, SparseView::of(indices, values, 8), options);
    EXPECT_EQ(last_report(group).aggregator_fallbacks, 0u);
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(LostRanks, AGroupThatIsNotBrokenDoesNotShrink) {
  const auto results = run_groups(2, [](Group& group) {
    EXPECT_THROW(group.shrink(Deadline::after(seconds(1))), Error);
    barrier(group);
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

}  // namespace
}  // namespace tandem::collectives::test
