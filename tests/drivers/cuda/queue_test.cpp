// SPDX-License-Identifier: Apache-2.0
//
// The queue: order, staged arrays, positions, and graphs for steps that repeat.
#include "cuda/queue/queue.h"

#include <gmock/gmock.h>

#include <numeric>

#include "common/error.h"
#include "cuda/gpu/gpu.h"
#include "gpu_kernels/simt/faults.h"
#include "gpu_kernels/simt/stream.h"

namespace tandem::cuda {
namespace {

using device::WaitResult;

// sums[i] += factor * values[i], with padding behind `add_one`.
struct AddUp {
  const int* values = nullptr;
  bool add_one = false;
  int* sums = nullptr;
  int count = 0;
};

cudaError_t add_up(const AddUp& job, cudaStream_t stream) {
  return simt::on_stream(stream, [job] {
    for (int i = 0; i < job.count; ++i) job.sums[i] += job.values[i] + (job.add_one ? 1 : 0);
  });
}

cudaError_t refuse(const AddUp&, cudaStream_t) { return cudaErrorInvalidValue; }
cudaError_t fail(const AddUp&, cudaStream_t) { return cudaErrorLaunchFailure; }

class QueueTest : public testing::Test {
 protected:
  void SetUp() override { simt::set_lazy(true); }
  void TearDown() override {
    simt::clear_faults();
    simt::set_lazy(false);
  }

  // A step of `ops` operations that add `values`.
  void enqueue(std::span<const int> values, int ops = 10, bool add_one = false) {
    for (int op = 0; op < ops; ++op) {
      queue().begin(values.size_bytes(), 1);
      const int* at = queue().stage(values);
      auto& job = queue().add<add_up>("adding up");
      job.values = at;
      job.add_one = add_one;
      job.sums = sums_.as<int>();
      job.count = static_cast<int>(values.size());
    }
  }
  WaitResult finish() {
    return queue().wait(queue().flush(), Deadline::after(std::chrono::seconds(5)));
  }
  Queue& queue() { return gpu_.queue; }

  Gpu gpu_{0, "cuda:0"};
  PoolRange sums_ = [this] {
    PoolRange range(gpu_.pinned_memory, 4096 * sizeof(int), Purpose::kActivations);
    std::fill_n(range.as<int>(), 4096, 0);
    return range;
  }();
};

TEST_F(QueueTest, DoesNothingBeforeAFlushAndAllOfItAfterAWait) {
  const std::vector<int> values = {1, 2, 3};
  enqueue(values, 2);
  EXPECT_EQ(sums_.as<int>()[2], 0);
  ASSERT_EQ(finish(), WaitResult::kDone);
  EXPECT_EQ(sums_.as<int>()[0], 2);
  EXPECT_EQ(sums_.as<int>()[2], 6);
}

TEST_F(QueueTest, ArraysMayChangeAsSoonAsTheyAreStaged) {
  std::vector<int> values = {1, 1};
  for (int turn = 0; turn < 20; ++turn) {
    enqueue(values, 1);
    queue().flush();
    values[1] = turn;  // the copy is still to come
  }
  ASSERT_EQ(finish(), WaitResult::kDone);
  EXPECT_EQ(sums_.as<int>()[0], 20);
  EXPECT_EQ(sums_.as<int>()[1], 1 + 18 * 19 / 2);
}

TEST_F(QueueTest, AStepThatRepeatsBecomesAGraphTheSecondTimeWhateverItsArraysHold) {
  std::vector<int> values = {1, 2, 3};
  for (int step = 1; step <= 5; ++step) {
    values[0] = step;
    enqueue(values);
    ASSERT_EQ(finish(), WaitResult::kDone);
    EXPECT_EQ(queue().stats().graph_launches, static_cast<std::uint64_t>(std::max(0, step - 1)));
  }
  EXPECT_EQ(sums_.as<int>()[0], 10 * (1 + 2 + 3 + 4 + 5));
  EXPECT_EQ(sums_.as<int>()[1], 10 * 5 * 2);
}

TEST_F(QueueTest, OtherArgumentsAreAnotherStep) {
  const std::vector<int> values = {1, 2, 3};
  for (int step = 0; step < 3; ++step) {
    enqueue(values, 10, false);
    ASSERT_EQ(finish(), WaitResult::kDone);
    enqueue(values, 10, true);
    ASSERT_EQ(finish(), WaitResult::kDone);
    enqueue(values, 3);  // too short to be worth it
    ASSERT_EQ(finish(), WaitResult::kDone);
  }
  EXPECT_EQ(queue().stats().graph_launches, 4u);
  EXPECT_EQ(sums_.as<int>()[2], 3 * (30 + 40 + 9));
}

TEST_F(QueueTest, ArraysOfAboutTheSameSizeHaveTheSamePlaces) {
  const int* first_place = nullptr;
  for (const std::size_t size : {100u, 99u, 97u}) {
    std::vector<int> values(size, 1), others(5, 1);
    enqueue(values);
    // Behind an array that changes its size. The count is in the record, so this is what differs.
    queue().begin(20, 1);
    const int* place = queue().stage(std::span<const int>(others));
    queue().begin(20, 1);
    EXPECT_EQ(queue().stage(std::span<const int>(others)), place) << "staged twice";
    if (first_place == nullptr) first_place = place;
    EXPECT_EQ(place, first_place);
    ASSERT_EQ(finish(), WaitResult::kDone);
  }
}

TEST_F(QueueTest, WhatCannotBeCapturedIsLaunchedOneByOne) {
  simt::set_faults({.no_graphs = true});
  const std::vector<int> values = {1};
  for (int step = 0; step < 4; ++step) {
    enqueue(values);
    ASSERT_EQ(finish(), WaitResult::kDone);
  }
  EXPECT_EQ(queue().stats().graph_launches, 0u);
  EXPECT_EQ(sums_.as<int>()[0], 40);
  EXPECT_FALSE(gpu_.health.lost());
}

TEST_F(QueueTest, WhatMustNotBeAGraphIsNone) {
  const std::vector<int> values = {1};
  for (int step = 0; step < 4; ++step) {
    enqueue(values);
    queue().no_graph();
    ASSERT_EQ(finish(), WaitResult::kDone);
  }
  EXPECT_EQ(queue().stats().graph_launches, 0u);
}

TEST_F(QueueTest, ForgottenGraphsAreNotLaunchedAgainAndEndTheirWork) {
  const std::vector<int> values = {1};
  for (int step = 0; step < 2; ++step) {
    enqueue(values);
    queue().flush();
  }
  ASSERT_EQ(queue().stats().graph_launches, 1u);
  queue().forget_graphs();  // while one runs
  for (const std::uint64_t graph_launches : {1u, 2u, 3u}) {
    enqueue(values);
    ASSERT_EQ(finish(), WaitResult::kDone);
    EXPECT_EQ(queue().stats().graph_launches, graph_launches);
  }
  EXPECT_EQ(sums_.as<int>()[0], 50);
}

TEST_F(QueueTest, GrowsItsArraysAndScratchBetweenSequences) {
  std::vector<int> large(3'000'000 / sizeof(int), 1);
  const std::vector<int> small = {1, 2};
  enqueue(small, 1);
  queue().begin(large.size() * sizeof(int), 1, 5'000'000);
  const int* staged = queue().stage(std::span<const int>(large));
  auto& job = queue().add<add_up>("adding up");
  job.values = staged + large.size() - 2;
  job.sums = sums_.as<int>();
  job.count = 2;
  EXPECT_TRUE(gpu_.device_memory.holds(queue().scratch(), 5'000'000));
  enqueue(small, 1);
  ASSERT_EQ(finish(), WaitResult::kDone);
  EXPECT_EQ(sums_.as<int>()[1], 2 + 1 + 2);
}

TEST_F(QueueTest, PositionsAreWaitedForInAnyOrderAndDeadlinesKept) {
  const std::vector<int> values = {1};
  std::vector<std::uint64_t> positions;
  for (int step = 0; step < 100; ++step) {
    enqueue(values, 1);
    positions.push_back(queue().flush());
  }
  EXPECT_EQ(queue().wait(positions[70], Deadline::after(std::chrono::seconds(5))),
            WaitResult::kDone);
  EXPECT_EQ(queue().wait(positions[3], Deadline::after({})), WaitResult::kDone);
  EXPECT_EQ(queue().wait(positions[99], Deadline::after({})), WaitResult::kTimeout);
  EXPECT_EQ(queue().wait(positions[99], Deadline::after(std::chrono::seconds(5))),
            WaitResult::kDone);
  EXPECT_EQ(sums_.as<int>()[0], 100);
}

TEST_F(QueueTest, WhoeverWaitsForARefusedPositionHearsOfItAndOthersDoNot) {
  const std::vector<int> values = {1};
  enqueue(values, 1);
  const std::uint64_t before = queue().flush();
  enqueue(values, 1);
  queue().begin(0, 0);
  queue().add<refuse>("refusing");
  const std::uint64_t refused = queue().open_position();
  EXPECT_THROW(queue().flush(), Error);
  enqueue(values, 1);
  const std::uint64_t behind = queue().flush();
  const auto deadline = [] { return Deadline::after(std::chrono::seconds(5)); };
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(queue().wait(behind, deadline()), WaitResult::kDone) << "who flushed has heard";
    EXPECT_EQ(queue().wait(before, deadline()), WaitResult::kDone);
    EXPECT_TRUE(queue().has_passed(refused));
    try {
      queue().wait(refused, deadline());
      ADD_FAILURE() << "as if it were done";
    } catch (const DeviceError& error) {
      ADD_FAILURE() << error.what();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("a launch before this wait was refused: "));
      EXPECT_THAT(error.what(), testing::HasSubstr("refusing: "));
    }
  }
  EXPECT_EQ(sums_.as<int>()[0], 3) << "but for what was refused, all is done";
}

TEST_F(QueueTest, WhatIsRefusedWhileItsUnitGoesIsToldToWhoGoesOn) {
  const std::vector<int> values = {1};
  for (const bool flushes_next : {true, false}) {
    const auto refuse_in_finish = [&] {
      enqueue(values, 1);
      queue().begin(0, 0);
      queue().add<refuse>("refusing");
      EXPECT_EQ(queue().finish(Deadline::after(std::chrono::seconds(5))), WaitResult::kDone);
    };
    if (flushes_next) {
      refuse_in_finish();
      enqueue(values, 1);
      EXPECT_THROW(queue().flush(), Error);
      EXPECT_FALSE(queue().is_empty()) << "what is open stays";
    } else {
      enqueue(values, 1);
      const std::uint64_t before = queue().flush();
      refuse_in_finish();
      EXPECT_EQ(queue().wait(before, Deadline::after(std::chrono::seconds(5))), WaitResult::kDone);
      enqueue(values, 1);
      EXPECT_THROW(queue().wait(queue().open_position(), Deadline::never()), Error);
    }
    EXPECT_EQ(finish(), WaitResult::kDone) << "once";
  }
}

TEST_F(QueueTest, ALaunchThatFailsLosesTheDeviceAndSaysWhich) {
  queue().begin(0, 0);
  queue().add<fail>("failing");
  try {
    queue().flush();
    FAIL() << "launched";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("[cuda] cuda:0 is lost: failing: "));
  }
  EXPECT_THROW(queue().begin(0, 0), DeviceError);
  EXPECT_EQ(queue().wait(1, Deadline::never()), WaitResult::kLost);
}

TEST_F(QueueTest, ARefusedLaunchIsAnErrorOfItsSequenceAndTheQueueGoesOn) {
  std::vector<int> values = {1};
  enqueue(values, 1);
  queue().add<refuse>("refusing");
  const std::uint64_t position = queue().open_position();
  try {
    queue().flush();
    FAIL() << "launched";
  } catch (const DeviceError& error) {
    FAIL() << "the device is not at fault: " << error.what();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("[cuda] cuda:0: refusing: "));
  }
  EXPECT_FALSE(gpu_.health.lost());
  EXPECT_EQ(queue().failed_position(), position);
  EXPECT_EQ(queue().open_position(), position + 1) << "its staged addresses would be taken for new";
  values[0] = 10;  // its arrays are still being copied: their place must not be filled before
  for (int step = 0; step < 4; ++step) {
    enqueue(values, 1);
    queue().flush();
  }
  ASSERT_EQ(finish(), WaitResult::kDone);
  EXPECT_EQ(sums_.as<int>()[0], 41);
}

TEST_F(QueueTest, AWaitThatFlushesARefusedLaunchThrowsAndAFarewellDoesNot) {
  queue().begin(0, 0);
  queue().add<refuse>("refusing");
  const std::uint64_t position = queue().open_position();
  EXPECT_THROW(queue().wait(position, Deadline::after(std::chrono::seconds(5))), Error);
  EXPECT_FALSE(gpu_.health.lost());
  queue().begin(0, 0);
  queue().add<refuse>("refusing");
  EXPECT_EQ(queue().finish(Deadline::after(std::chrono::seconds(5))), WaitResult::kDone);
}

TEST(HealthTest, ErrorsOfACallLeaveTheDeviceAndOthersLoseIt) {
  Health health("cuda:0");
  for (const cudaError_t error :
       {cudaErrorInvalidValue, cudaErrorInvalidConfiguration, cudaErrorMemoryAllocation}) {
    EXPECT_THROW(
        {
          try {
            health.check(error, "trying");
          } catch (const DeviceError&) {
          }
        },
        Error);
    EXPECT_FALSE(health.lost());
  }
  EXPECT_THROW(health.check(cudaErrorLaunchFailure, "trying"), DeviceError);
  EXPECT_THROW(health.check(cudaErrorInvalidValue, "trying"), DeviceError) << "lost already";
}

TEST_F(QueueTest, ADeviceLostInMidStepFailsItsWaitAndAllCallsAfterIt) {
  const std::vector<int> values = {1};
  enqueue(values);
  simt::set_faults({.lose_at_work = 5});
  EXPECT_THROW(
      {
        const std::uint64_t position = queue().flush();
        if (queue().wait(position, Deadline::never()) == WaitResult::kLost) gpu_.health.require();
      },
      DeviceError);
  EXPECT_TRUE(gpu_.health.lost());
  EXPECT_THROW(queue().begin(0, 0), DeviceError);
}

}  // namespace
}  // namespace tandem::cuda
