// SPDX-License-Identifier: Apache-2.0
//
// The interpreter's barriers and bulk copies: a correct ring works in every order of threads, and
// each mistake is detected.
#include "gpu_kernels/simt/barriers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "common/bulk_copy.cuh"
#include "common/launch.cuh"
#include "gpu_kernels/device_array.h"

namespace tandem::gpu_kernels {
namespace {

constexpr int kStages = 2, kValues = 64, kTurns = 7;  // of 64 floats each
constexpr unsigned kThreads = 64;                     // a warp that copies and one that reads

// What is done wrongly.
enum class Mistake {
  kNone,
  kNoWait,        // values are read before they are there
  kNoEmptyWait,   // a stage is copied to while it is read
  kFewBytes,      // fewer bytes are expected than come
  kManyBytes,     // more than come
  kWrongParity,   // of the full barrier
  kNoArrival,     // a stage is never given back
  kTwoArrivals,   // or twice
  kUnaligned,     // the copy's source
  kOddBytes,      // no multiple of 16
  kUnpublished,   // barriers are not published
  kUnmade,        // nor made
  kLeftBehind,    // the last copy is never waited for
  kOtherThreads,  // a barrier of some warps, and threads disagree about which
};

struct Shared {
  float values[kStages][kValues];
  Barrier full[kStages], empty[kStages];
};

void prepare(Shared& shared, Mistake mistake) {
  if (threadIdx.x == 0 && mistake != Mistake::kUnmade) {
    for (int i = 0; i < kStages; ++i) {
      init_barrier(shared.full[i], 1);
      init_barrier(shared.empty[i], 1);
    }
    if (mistake != Mistake::kUnpublished) publish_barriers();
  }
  __syncthreads();
  wait_for_previous();
}

void bring(Shared& shared, const float* from, int turn, Mistake mistake) {
  const int stage = turn % kStages;
  const unsigned parity = static_cast<unsigned>(turn / kStages % 2);
  if (turn >= kStages && mistake != Mistake::kNoEmptyWait) {
    wait_barrier(shared.empty[stage], parity ^ 1u);
  }
  constexpr unsigned kBytes = kValues * sizeof(float);
  const int off = mistake == Mistake::kFewBytes ? -16 : mistake == Mistake::kManyBytes ? 16 : 0;
  arrive_expecting(shared.full[stage], kBytes + static_cast<unsigned>(off));
  from += turn * kValues + (mistake == Mistake::kUnaligned ? 1 : 0);
  copy_bulk(shared.values[stage], from, kBytes / 2, shared.full[stage]);
  copy_bulk(shared.values[stage] + kValues / 2, from + kValues / 2,
            kBytes / 2 - (mistake == Mistake::kOddBytes ? 4 : 0), shared.full[stage]);
}

void read(Shared& shared, float* sums, int turn, Mistake mistake) {
  const int stage = turn % kStages, lane = static_cast<int>(threadIdx.x % 32);
  unsigned parity = static_cast<unsigned>(turn / kStages % 2);
  if (mistake == Mistake::kLeftBehind && turn == kTurns - 1) return;
  if (mistake == Mistake::kWrongParity) parity ^= 1u;
  if (mistake != Mistake::kNoWait) wait_barrier(shared.full[stage], parity);
  sums[lane] += shared.values[stage][lane];
  if (mistake == Mistake::kNoWait) wait_barrier(shared.full[stage], parity);
  __syncwarp();
  sums[lane] += shared.values[stage][lane + 32];
  __syncwarp();
  if (lane > 0 || mistake == Mistake::kNoArrival) return;
  arrive_barrier(shared.empty[stage]);
  if (mistake == Mistake::kTwoArrivals) arrive_barrier(shared.empty[stage]);
}

void ring(const float* from, float* sums, Mistake mistake) {
  auto& shared = *reinterpret_cast<Shared*>(dynamic_shared());
  prepare(shared, mistake);
  for (int turn = 0; turn < kTurns; ++turn) {
    if (threadIdx.x >= 32) {
      read(shared, sums, turn, mistake);
    } else if (threadIdx.x == 0) {
      bring(shared, from, turn, mistake);
    }
  }
  if (mistake == Mistake::kOtherThreads && threadIdx.x < 32) sync_warps<1, 64>();
  if (mistake == Mistake::kOtherThreads && threadIdx.x >= 32) sync_warps<1, 32>();
}

// The sums of all turns by lane.
std::vector<float> run_ring(int order, Mistake mistake) {
  start_run(order);
  std::vector<float> values(kTurns * kValues + 4);
  std::iota(values.begin(), values.end(), 1.0f);
  DeviceArray<float> from(values), sums(std::vector<float>(32, 0.0f));
  check_cuda(launch_shared(nullptr, dim3(1), kThreads, sizeof(Shared), ring,
                           static_cast<const float*>(from.data()), sums.data(), mistake));
  check_cuda(cudaDeviceSynchronize());
  return sums.download();
}

float sum_of_lane(int lane) {
  float sum = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    sum += static_cast<float>(2 * (turn * kValues + lane + 1) + 32);
  }
  return sum;
}

bool is_right(const std::vector<float>& sums) {
  for (int lane = 0; lane < 32; ++lane) {
    if (sums[static_cast<std::size_t>(lane)] != sum_of_lane(lane)) return false;
  }
  return true;
}

TEST(BulkCopies, FillARingInEveryOrder) {
  for (const int order : runs()) EXPECT_TRUE(is_right(run_ring(order, Mistake::kNone))) << order;
}

TEST(BulkCopies, ShowWhatIsReadTooEarly) {
  for (const int order : {0, 1}) {
    EXPECT_FALSE(is_right(run_ring(order, Mistake::kNoWait))) << order;
  }
}

struct Death {
  Mistake mistake;
  const char* message;
};

TEST(BulkCopiesDeathTest, EndTheProgramWithASentence) {
  const Death deaths[] = {{Mistake::kNoEmptyWait, "more arrivals at a barrier than it counts"},
                          {Mistake::kFewBytes, "-16 bytes to come"},
                          {Mistake::kManyBytes, "1 arrivals of 1, 16 bytes to come"},
                          {Mistake::kWrongParity, "more arrivals at a barrier than it counts"},
                          {Mistake::kTwoArrivals, "every thread of block 0 waits"},
                          {Mistake::kNoArrival, "every thread of block 0 waits"},
                          {Mistake::kUnaligned, "a copy's address is not aligned"},
                          {Mistake::kOddBytes, "a copy's bytes are no multiple of 16"},
                          {Mistake::kUnpublished, "a copy's barrier was never published"},
                          {Mistake::kUnmade, "used before init_barrier"},
                          {Mistake::kLeftBehind, "a block ends while copies are on their way"},
                          {Mistake::kOtherThreads, "threads disagree"}};
  for (const Death& death : deaths) {
    EXPECT_DEATH(run_ring(0, death.mistake), death.message) << static_cast<int>(death.mistake);
  }
}

}  // namespace
}  // namespace tandem::gpu_kernels
