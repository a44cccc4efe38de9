// SPDX-License-Identifier: Apache-2.0
//
// Choosing, grouping and adding up experts against naive loops.
#include "experts/experts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "gpu_kernels/device_array.h"
#include "gpu_kernels/random_floats.h"

namespace tandem::gpu_kernels {
namespace {

struct Choices {
  std::vector<std::int32_t> chosen;
  std::vector<float> shares;
};

Choices choose_on_device(const std::vector<float>& router, int experts, int used, bool normalise) {
  const std::size_t rows = router.size() / static_cast<std::size_t>(experts);
  DeviceArray<float> device_router(router), shares(rows * static_cast<std::size_t>(used));
  DeviceArray<std::int32_t> chosen(rows * static_cast<std::size_t>(used));
  const ExpertChoice job{static_cast<std::int64_t>(rows),
                         experts,
                         used,
                         normalise,
                         device_router.data(),
                         chosen.data(),
                         shares.data()};
  EXPECT_EQ(choose_experts(job, nullptr), cudaSuccess);
  return {chosen.download(), shares.download()};
}

void expect_choices(const std::vector<float>& router, int num_experts, int num_used,
                    bool normalise) {
  SCOPED_TRACE(testing::Message() << num_used << " of " << num_experts);
  const auto experts = static_cast<std::size_t>(num_experts);
  const auto used = static_cast<std::size_t>(num_used);
  const Choices got = choose_on_device(router, num_experts, num_used, normalise);
  for (std::size_t row = 0; row < router.size() / experts; ++row) {
    const float* logits = router.data() + row * experts;
    std::vector<std::int32_t> order(experts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int32_t a, std::int32_t b) { return logits[a] > logits[b]; });
    double sum = 0, chosen_sum = 0;
    for (std::size_t i = 0; i < experts; ++i) sum += std::exp(static_cast<double>(logits[i]));
    for (std::size_t rank = 0; rank < used; ++rank) {
      chosen_sum += std::exp(static_cast<double>(logits[order[rank]])) / sum;
    }
    for (std::size_t rank = 0; rank < used; ++rank) {
      ASSERT_EQ(got.chosen[row * used + rank], order[rank]) << row << ", " << rank;
      double share = std::exp(static_cast<double>(logits[order[rank]])) / sum;
      if (normalise) share /= chosen_sum;
      ASSERT_NEAR(got.shares[row * used + rank], share, 2e-6 * share);
    }
  }
}

TEST_P(KernelTest, ChoosesTheLargestRouterLogitsOfAnyNumberOfExperts) {
  for (const auto& [experts, used] : {std::pair(1, 1),
                                      {8, 2},
                                      {32, 4},
                                      {33, 33},
                                      {60, 4},
                                      {128, 8},
                                      {256, 8},
                                      {512, 10},
                                      {1024, 2}}) {
    const auto router = random_floats(5 * static_cast<std::size_t>(experts), 1, 3.0f);
    expect_choices(router, experts, used, false);
    expect_choices(router, experts, used, true);
  }
}

TEST_P(KernelTest, OfEqualRouterLogitsTheFirstIsChosen) {
  std::vector<float> router(64, 1.0f);
  router[50] = 2.0f;
  router[7] = -0.0f;
  router[3] = 0.0f;
  expect_choices(router, 64, 5, true);
  expect_choices(std::vector<float>{-0.0f, 0.0f, -0.0f, -1.0f}, 4, 3, false);
}

TEST_P(KernelTest, RouterLogitsThatAreNoNumbersMakeSharesOfNaN) {
  std::vector<float> router = random_floats(2 * 16, 2);
  router[5] = std::numeric_limits<float>::quiet_NaN();
  const Choices got = choose_on_device(router, 16, 2, true);
  EXPECT_TRUE(std::isnan(got.shares[0]) && std::isnan(got.shares[1]));
  EXPECT_FALSE(std::isnan(got.shares[2]) || std::isnan(got.shares[3]));
  for (const std::int32_t expert : got.chosen) EXPECT_TRUE(expert >= 0 && expert < 16);
}

void expect_groups(std::size_t rows, int experts, std::size_t used,
                   const std::vector<std::int32_t>& chosen) {
  DeviceArray<std::int32_t> device_chosen(chosen), begins(static_cast<std::size_t>(experts) + 1);
  DeviceArray<std::int32_t> slot_rows(rows * used), slots(rows * used);
  const ExpertGroups job{static_cast<std::int64_t>(rows),
                         experts,
                         static_cast<int>(used),
                         device_chosen.data(),
                         begins.data(),
                         slot_rows.data(),
                         slots.data()};
  ASSERT_EQ(group_experts(job, nullptr), cudaSuccess);
  const auto got_begins = begins.download(), got_rows = slot_rows.download();
  const auto got_slots = slots.download();
  std::size_t slot = 0;
  for (std::int32_t expert = 0; expert < experts; ++expert) {
    ASSERT_EQ(got_begins[static_cast<std::size_t>(expert)], slot);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] != expert) continue;
      ASSERT_EQ(got_slots[i], slot);
      ASSERT_EQ(got_rows[slot++], i / used);
    }
  }
  ASSERT_EQ(got_begins.back(), slot);
  ASSERT_EQ(slot, rows * used);
}

TEST_P(KernelTest, GroupsRowsByExpertInTheirOrder) {
  std::mt19937 random(3);
  for (const std::size_t rows : {0, 1, 3, 255, 600, 1500}) {
    std::vector<std::int32_t> chosen(rows * 2);
    for (std::size_t row = 0; row < rows; ++row) {
      chosen[2 * row] = static_cast<std::int32_t>(random() % 11);
      chosen[2 * row + 1] = (chosen[2 * row] + 1 + static_cast<std::int32_t>(random() % 10)) % 11;
    }
    expect_groups(rows, 11, 2, chosen);
  }
  expect_groups(5, 4, 1, {2, 2, 2, 2, 2});  // the others have nobody
}

TEST_P(KernelTest, SumsOfExpertsAddTheirResultsRankAfterRank) {
  for (const std::size_t width : {3, 64, 1030}) {
    constexpr std::size_t kRows = 4, kUsed = 3;
    const auto results = random_floats(kRows * kUsed * width, 4);
    const auto before = random_floats(kRows * width, 5), shares = random_floats(kRows * kUsed, 6);
    std::vector<std::int32_t> slots(kRows * kUsed);
    std::iota(slots.begin(), slots.end(), 0);
    std::shuffle(slots.begin(), slots.end(), std::mt19937(7));
    DeviceArray<float> device_results(results), out(before), device_shares(shares);
    DeviceArray<std::int32_t> device_slots(slots);
    const ExpertSum job{kRows,
                        static_cast<int>(width),
                        kUsed,
                        device_results.data(),
                        device_slots.data(),
                        device_shares.data(),
                        out.data()};
    ASSERT_EQ(sum_experts(job, nullptr), cudaSuccess);
    const auto got = out.download();
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t i = 0; i < width; ++i) {
        double expected = before[row * width + i];
        for (std::size_t rank = row * kUsed; rank < (row + 1) * kUsed; ++rank) {
          expected += static_cast<double>(shares[rank]) *
                      results[static_cast<std::size_t>(slots[rank]) * width + i];
        }
        ASSERT_NEAR(got[row * width + i], expected, 2e-6);
      }
    }
  }
}

TEST_P(KernelTest, ExpertsRefuseShapesOutsideTheStatedOnes) {
  EXPECT_EQ(choose_experts({1, 4, 5}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(choose_experts({1, 4, 0}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(choose_experts({1, kMaxExperts + 1, 2}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(choose_experts({0, 4, 2}, nullptr), cudaSuccess);
  EXPECT_EQ(group_experts({std::int64_t{1} << 31, 4, 2}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(group_experts({-1, 4, 2}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(sum_experts({1, 0, 2}, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
