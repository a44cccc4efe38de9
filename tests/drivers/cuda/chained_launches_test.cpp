// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a sequence that begin before the one in front has ended, under the interpreter: a read
// that is too early gets old data, and a kernel that does not wait is detected.
#include <gtest/gtest.h>

#include "common/launch.cuh"
#include "cuda/gpu/gpu.h"
#include "cuda/queue/copy.h"
#include "small_step.h"

namespace tandem::cuda {
namespace {

using device::WaitResult;
using gpu_kernels::let_next_start;
using gpu_kernels::wait_for_previous;

struct Move {
  const int* from = nullptr;
  int* to = nullptr;
  int add = 0;
  bool reads_early = false, waits = true;
};

void move_word(Move job) {
  let_next_start();
  int word = *job.from;
  if (job.waits) wait_for_previous();
  if (!job.reads_early) word = *job.from;
  *job.to = word + job.add;
}

cudaError_t move(const Move& job, cudaStream_t stream) {
  return gpu_kernels::launch(stream, dim3(1), 1, move_word, job);
}

class ChainedLaunchesTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    simt::set_lazy(true);
    for (int i = 0; i < kWords; ++i) words()[i] = 0;
  }
  void TearDown() override { simt::set_lazy(false); }

  static constexpr int kWords = 16;
  int* words() { return words_.as<int>(); }

  // words[i + 1] = words[i] + 1, in order; the last one reads early where `early` says so.
  void enqueue(bool early, bool copies = false) {
    for (int i = 0; i + 1 < kWords; ++i) {
      const bool is_last = i + 2 == kWords;
      if (is_last && copies) {
        auto& copy = gpu_.queue.add<copy_bytes>("copying");
        copy.to = words();
        copy.from = words();
        copy.bytes = sizeof(int);
      }
      auto& job = gpu_.queue.add<move>("moving a word");
      job.from = words() + i;
      job.to = words() + i + 1;
      job.add = 1;
      job.reads_early = early && is_last;
    }
  }
  // The last word after as many equal sequences as make a graph, or after one.
  int run(bool early, bool copies = false) {
    for (int i = 0; i < (GetParam() ? 3 : 1); ++i) {
      std::fill_n(words(), kWords, 0);
      enqueue(early, copies);
      const std::uint64_t position = gpu_.queue.flush();
      EXPECT_EQ(gpu_.queue.wait(position, Deadline::after(std::chrono::seconds(30))),
                WaitResult::kDone);
    }
    EXPECT_EQ(gpu_.queue.stats().graph_launches, GetParam() ? 2u : 0u);
    return words()[kWords - 1];
  }

  Gpu gpu_{0, "cuda:0"};
  PoolRange words_{gpu_.pinned_memory, kWords * sizeof(int), Purpose::kActivations};
};

TEST_P(ChainedLaunchesTest, KernelsThatWaitSeeWhatWasStoredInFrontOfThem) {
  EXPECT_EQ(run(false), kWords - 1);
}

TEST_P(ChainedLaunchesTest, ReadingInFrontOfTheWaitFindsWhatWasThereBefore) {
  EXPECT_EQ(run(true), 1);
}

TEST_P(ChainedLaunchesTest, BehindACopyNothingBeginsEarly) {
  EXPECT_EQ(run(true, true), kWords - 1);
}

INSTANTIATE_TEST_SUITE_P(Queues, ChainedLaunchesTest, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "AsAGraph" : "OneByOne");
});

TEST(ChainedLaunchesDeathTest, AThreadThatEndsWithoutHavingWaitedEndsTheProgram) {
  int word = 0;
  const Move job{&word, &word, 1, true, false};
  EXPECT_DEATH(move(job, nullptr), "ended without wait_for_previous");
}

// embedding, norm, q, k and v (of two types), angles, rotation with the append, attention, its rows
// for the output, output, norm, logits, choice
TEST(DecodeStepTest, RotatesAndAppendsInOneLaunch) {
  cuda_test::SmallStep step;
  const auto tokens = step.run(3);
  EXPECT_EQ(step.gpu().queue.stats().launches, 11u);
  EXPECT_EQ(step.run(3), tokens);
}

}  // namespace
}  // namespace tandem::cuda
