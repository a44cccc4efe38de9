// SPDX-License-Identifier: Apache-2.0
//
// Handles of asynchronous calls: order, errors, deadlines, abort, destruction.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "host/collectives/api/groups.h"

namespace tandem::collectives::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Deadline soon() { return Deadline::after(seconds(30)); }

TEST(AsyncCalls, ManyInFlightComeOutRightAndInOrder) {
  const auto results = run_groups(4, [](Group& group) {
    std::vector<Tensor> own;
    std::vector<Entries> expected;
    for (int call = 0; call < 10; ++call) {
      std::vector<Tensor> all;
      for (int rank = 0; rank < 4; ++rank) all.push_back(random_tensor(500, 60, rank + 10 * call));
      expected.push_back(naive_sum(all));
      own.push_back(all[static_cast<std::size_t>(group.rank())]);
    }
    std::vector<std::pair<std::shared_ptr<SparseTensor>, Pending>> handles;
    for (const Tensor& tensor : own) {
      handles.push_back(
          sparse_allreduce_async(group, SparseView::of(tensor.indices, tensor.values, 500)));
    }
    std::vector<std::uint64_t> dense = {1, 0, 2};
    const Pending in_place = sparse_allreduce_dense_async(group, DenseView::of(dense));
    std::vector<std::uint64_t> counts = {1};
    const Pending plain = allreduce_async(group, DenseView::of(counts));
    barrier(group);  // after all of them
    for (const auto& [tensor, pending] : handles) EXPECT_TRUE(pending.done());
    for (std::size_t call = 0; call < handles.size(); ++call) {
      EXPECT_TRUE(handles[call].second.wait(soon()));
      EXPECT_EQ(entries_of(*handles[call].first), expected[call]);
    }
    EXPECT_TRUE(in_place.wait(soon()));
    EXPECT_EQ(dense, (std::vector<std::uint64_t>{4, 0, 8}));
    EXPECT_TRUE(plain.wait(soon()));
    EXPECT_EQ(counts[0], 4u);
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(AsyncCalls, FusedTensorsAndReduceScatterHaveAsynchronousForms) {
  const auto results = run_groups(3, [](Group& group) {
    const std::vector<std::uint32_t> indices = {0, 4, 8};
    const std::vector<std::uint64_t> values = {1, 2, 3};
    auto views = std::make_unique<std::vector<SparseView>>(2, SparseView::of(indices, values, 9));
    const auto [tensors, fused] = sparse_allreduce_fused_async(group, *views);
    const auto [part, scatter] = sparse_reduce_scatter_async(group, views->front());
    views.reset();  // views are copied, what they point to is not
    scatter.wait(Deadline::never());
    EXPECT_TRUE(fused.done());
    ASSERT_EQ(tensors->size(), 2u);
    for (const SparseTensor& sum : *tensors) {
      EXPECT_EQ(entries_of(sum), (Entries{{0, 3}, {4, 6}, {8, 9}}));
    }
    const auto rank = static_cast<std::size_t>(group.rank());
    EXPECT_EQ(entries_of(*part), (Entries{{indices[rank], 3 * values[rank]}}));
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(AsyncCalls, RethrowTheCallsErrorAndGoOn) {
  const auto results = run_groups(3, [](Group& group) {
    std::vector<float> values(group.rank() == 1 ? 5 : 4);
    const Pending pending = allreduce_async(group, DenseView::of(values));
    const RankResult outcome = outcome_of([&] { pending.wait(soon()); });
    EXPECT_EQ(outcome.outcome, Outcome::kError);
    EXPECT_NE(outcome.text.find("num_values"), std::string::npos) << outcome.text;
    EXPECT_FALSE(group.broken());
    barrier(group);
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(AsyncCalls, AWaitThatEndsEarlyLeavesTheCallRunning) {
  const auto results = run_groups(2, [](Group& group) {
    std::vector<std::uint64_t> values = {1};
    if (group.rank() == 1) std::this_thread::sleep_for(milliseconds(100));
    const Pending pending = allreduce_async(group, DenseView::of(values));
    while (!pending.wait(Deadline::after(milliseconds(1)))) {
    }
    EXPECT_TRUE(pending.done());
    EXPECT_EQ(values[0], 2u);
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(AsyncCalls, AbortFailsTheCallHereAndOnThePeers) {
  std::atomic<bool> aborted{false};
  const auto results = run_groups(3, [&](Group& group) {
    std::vector<std::uint64_t> values = {1};
    if (group.rank() == 2) {  // joins too late
      while (!aborted) std::this_thread::yield();
      const RankResult late = outcome_of([&] { allreduce(group, DenseView::of(values)); });
      EXPECT_EQ(late.outcome, Outcome::kTransportError);
      EXPECT_NE(late.text.find("the user pressed stop"), std::string::npos) << late.text;
      return;
    }
    ReduceOptions options;
    options.timeout = seconds(30);
    const Pending pending = allreduce_async(group, DenseView::of(values), options);
    if (group.rank() == 0) pending.abort("the user pressed stop");
    aborted = aborted || group.rank() == 0;
    const RankResult outcome = outcome_of([&] { pending.wait(soon()); });
    EXPECT_EQ(outcome.outcome, Outcome::kTransportError);
    EXPECT_NE(outcome.text.find("the user pressed stop"), std::string::npos) << outcome.text;
    EXPECT_TRUE(group.broken());
    pending.abort("again");  // done: nothing
  });
  for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
}

TEST(AsyncCalls, DestroyingTheGroupEndsWhatIsInFlight) {
  auto transports = transport::inproc::make_world(2);
  std::vector<std::uint64_t> values = {1};
  auto group = std::make_unique<Group>(std::move(transports[0]));
  const Pending first = allreduce_async(*group, DenseView::of(values));
  const Pending second = allreduce_async(*group, DenseView::of(values));
  group.reset();  // the peer never came
  for (const Pending& pending : {first, second}) {
    ASSERT_TRUE(pending.done());
    EXPECT_THROW(pending.wait(soon()), TransportError);
  }
  EXPECT_EQ(values[0], 1u);
}

TEST(AsyncCalls, TimeInTheQueueCountsAgainstTheTimeout) {
  auto transports = transport::inproc::make_world(2);
  Group group(std::move(transports[0]));
  std::vector<std::uint64_t> values = {1};
  ReduceOptions patient;
  patient.timeout = seconds(30);
  const Pending blocked = allreduce_async(group, DenseView::of(values), patient);
  CallOptions hasty;
  hasty.timeout = milliseconds(50);
  const RankResult outcome = outcome_of([&] { barrier(group, hasty); });
  EXPECT_EQ(outcome.outcome, Outcome::kTransportError);
  EXPECT_EQ(outcome.kind, TransportError::Kind::kTimeout);
  EXPECT_TRUE(group.broken());
  EXPECT_THROW(blocked.wait(soon()), TransportError);  // the group has lost its step
}

TEST(AsyncCalls, DestroyingAGroupAbortsTheCallInFlight) {
  auto transports = transport::inproc::make_world(2);
  std::vector<float> values = {1, 2};
  std::optional<Pending> pending;
  const auto start = std::chrono::steady_clock::now();
  {
    Group group(std::move(transports[0]));  // rank 1 never calls
    pending = allreduce_async(group, DenseView::of(values));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_THROW(pending->wait(Deadline::never()), TransportError);
}

}  // namespace
}  // namespace tandem::collectives::test
