// SPDX-License-Identifier: Apache-2.0
//
// The search against known minima and closed forms; the file of tuned options.
#include "tensor/sparse/adaptive/partition_tuning.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "../random_tensor.h"
#include "common/error.h"
#include "support/scratch_path.h"
#include "tensor/sparse/adaptive/bayesian_search.h"

namespace tandem::sparse {
namespace {

constexpr auto bowl = [](std::span<const double> x) {
  return 5 + 100 * (std::pow(x[0] - 0.7, 2) + std::pow(x[1] - 0.2, 2));
};

TEST(BayesianSearch, ComesNearerToAMinimumThanEvenPoints) {
  const auto seen = find_minimum({2, 30, 1}, bowl);
  ASSERT_EQ(seen.size(), 30u);
  EXPECT_LT(cheapest(seen).cost, 5.1);
  EXPECT_GT(cheapest(std::span(seen).first(10)).cost, 5.1) << "the first ones only fill the square";
  EXPECT_EQ(cheapest(seen).cost, bowl(cheapest(seen).point));
  const auto again = find_minimum({2, 30, 1}, bowl);
  EXPECT_EQ(again.back().point, seen.back().point);
}

TEST(BayesianSearch, PredictsNearWhatItHasSeenAndIsUnsureElsewhere) {
  const std::vector<Evaluation> seen{{{0.1}, 4}, {{0.2}, 6}};
  const Prediction at = predict(seen, std::vector<double>{0.1});
  EXPECT_NEAR(at.mean, 4, 0.2);
  EXPECT_LT(at.deviation, 0.15);
  const Prediction far = predict(seen, std::vector<double>{5.0});
  EXPECT_NEAR(far.mean, 5, 1e-9) << "the mean of the costs";
  EXPECT_NEAR(far.deviation, 1, 1e-9) << "their spread";
}

TEST(BayesianSearch, ExpectsTheImprovementOfANormalDistribution) {
  EXPECT_NEAR(expected_improvement({0, 1}, 0), 0.3989422804, 1e-9);
  EXPECT_NEAR(expected_improvement({1, 2}, 2), 2 * (0.5 * 0.6914624613 + 0.3520653268), 1e-9);
  EXPECT_EQ(expected_improvement({1, 0}, 3), 2);
  EXPECT_EQ(expected_improvement({4, 0}, 3), 0);
}

TEST(BayesianSearch, RefusesNoEvaluationsAndCostsThatAreNoNumbers) {
  EXPECT_THROW(find_minimum({1, 0, 1}, [](auto) { return 1.0; }), Error);
  EXPECT_THROW(find_minimum({1, 5, 1}, [](auto) { return std::nan(""); }), Error);
  EXPECT_EQ(find_minimum({1, 6, 1}, [](auto) { return 1.0; }).size(), 6u) << "equal costs";
}

AdaptiveOptions options_with(int grid_bits) {
  AdaptiveOptions options;
  options.grid_bits = grid_bits;
  options.plan = {0.25, -0.125, 256, 1000};
  return options;
}

TEST(PartitionTuning, CoversItsRangesAtTheCorners) {
  const AdaptiveOptions least = options_at(std::vector<double>{0, 0, 0, 0, 0});
  const AdaptiveOptions most = options_at(std::vector<double>{1, 1, 1, 1, 1});
  EXPECT_EQ(least.grid_bits, 3);
  EXPECT_EQ(most.grid_bits, 12);
  EXPECT_EQ(least.plan.least_entries, 128u);
  EXPECT_EQ(least.plan.most_entries, 128u);
  EXPECT_EQ(most.plan.least_entries, 16384u);
  EXPECT_EQ(most.plan.most_entries, 16384u * 16);
  EXPECT_EQ(least.plan.cold, -1);
  EXPECT_DOUBLE_EQ(most.plan.hot, 0.8);
  EXPECT_LE(most.plan.cold, most.plan.hot);
  EXPECT_DOUBLE_EQ(most.plan.cold, most.plan.hot);
}

TEST(PartitionTuning, KeepsOptionsByStructureTheLatestSixtyFour) {
  const tandem::test::ScratchPath folder("cache");
  const std::string file = folder.string() + "/tandem/partitions.txt";
  EXPECT_FALSE(kept_options(file, "a"));
  for (int i = 0; i < 70; ++i) {
    ASSERT_TRUE(keep_options(file, "key" + std::to_string(i), options_with(3 + i % 10)));
  }
  EXPECT_FALSE(kept_options(file, "key5"));
  for (int i = 6; i < 70; ++i) {
    const auto kept = kept_options(file, "key" + std::to_string(i));
    ASSERT_TRUE(kept) << i;
    EXPECT_EQ(kept->grid_bits, 3 + i % 10);
    EXPECT_EQ(kept->plan.hot, 0.25);
    EXPECT_EQ(kept->plan.cold, -0.125);
    EXPECT_EQ(kept->plan.least_entries, 256u);
    EXPECT_EQ(kept->plan.most_entries, 1000u);
  }
  ASSERT_TRUE(keep_options(file, "key6", options_with(12)));
  EXPECT_EQ(kept_options(file, "key6")->grid_bits, 12);
  EXPECT_TRUE(kept_options(file, "key7")) << "a key that was there takes no place of another";
}

TEST(PartitionTuning, PassesDamagedLinesOver) {
  const tandem::test::ScratchPath file("partitions.txt");
  std::ofstream(file.string()) << "a 6 0 -0.5 1024\nb x\n\nc 99 0 -0.5 1024 4096\n"
                               << "d 6 0 0.5 1024 4096\ne 6 0 -0.5 1 4096\nf 6 0 -0.5 1024 1000\n"
                               << "good 6 0 -0.5 1024 4096\n";
  for (const char* key : {"a", "b", "c", "d", "e", "f"})
    EXPECT_FALSE(kept_options(file.string(), key));
  EXPECT_TRUE(kept_options(file.string(), "good"));
}

TEST(PartitionTuning, LosesNoLineOfTwoProcesses) {
  const tandem::test::ScratchPath folder("cache");
  const std::string file = folder.string() + "/partitions.txt";
  std::vector<pid_t> children;
  for (int child = 0; child < 2; ++child) {
    const pid_t process = ::fork();
    if (process == 0) {
      bool is_kept = true;
      for (int i = 0; i < 30; ++i) {
        is_kept &=
            keep_options(file, std::to_string(child) + "-" + std::to_string(i), options_with(7));
      }
      ::_exit(is_kept ? 0 : 1);
    }
    children.push_back(process);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(kept_options(file, "0-" + std::to_string(i))) << i;
    EXPECT_TRUE(kept_options(file, "1-" + std::to_string(i))) << i;
  }
}

TEST(PartitionTuning, SearchesOnceForAStructure) {
  const tandem::test::ScratchPath folder("cache");
  const TuningSource source{folder.string() + "/partitions.txt", 12};
  const CooTensor tensor = test::random_tensor({20, 30, 40}, 500, 1);
  std::size_t calls = 0;
  const auto seconds = [&](const AdaptiveOptions& options) {
    ++calls;
    return std::abs(options.grid_bits - 9.0) + options.plan.hot + 1;
  };
  const AdaptiveOptions found = tuned_options(tensor, 2, source, seconds);
  EXPECT_EQ(calls, 12u);
  EXPECT_NEAR(found.grid_bits, 9, 2);
  EXPECT_EQ(tuned_options(test::random_tensor({31, 17, 33}, 300, 2), 2, source, seconds).grid_bits,
            found.grid_bits);
  EXPECT_EQ(calls, 12u) << "sizes and entries within the same powers of two";
  tuned_options(tensor, 1, source, seconds);
  EXPECT_EQ(calls, 24u) << "another number of threads";
  tuned_options(test::random_tensor({20, 30, 70}, 500, 1), 2, source, seconds);
  EXPECT_EQ(calls, 36u);
  tuned_options(tensor, 2, {"", 12}, seconds);
  EXPECT_EQ(calls, 48u) << "without a file";
  tuned_options(tensor, 3, {"/proc/no/file", 12}, seconds);
  EXPECT_EQ(calls, 60u) << "a file that cannot be written";
}

TEST(PartitionTuning, FindsItsFileBelowTheCacheFolder) {
  EXPECT_EQ(tuning_file("/some/cache", "/folder"), "/some/cache/tandem/partitions.txt");
  EXPECT_EQ(tuning_file("relative", "/folder"), "/folder/.cache/tandem/partitions.txt");
  EXPECT_EQ(tuning_file(nullptr, "/folder"), "/folder/.cache/tandem/partitions.txt");
  EXPECT_EQ(tuning_file(nullptr, nullptr), "");
  EXPECT_EQ(tuning_file("", "me"), "");
}

}  // namespace
}  // namespace tandem::sparse
