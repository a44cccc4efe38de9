// SPDX-License-Identifier: Apache-2.0
//
// Generated tensors: exact counts, spreads by tests of fit, siblings by their features, and what no
// tensor can meet.
#include "tensor/sparse/generate/tensor_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "../random_tensor.h"
#include "common/error.h"
#include "tensor/sparse/features/features.h"
#include "tensor/sparse/formats/entry_order.h"
#include "tensor/sparse/generate/count_draws.h"
#include "tensor/sparse/generate/sibling.h"

namespace tandem::sparse {
namespace {

using test::Index;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

CooTensor generated(const TensorPlan& plan, std::uint64_t seed = 1, int threads = 2) {
  ThreadPool pool(threads);
  return generate_tensor(plan, seed, pool);
}

TensorFeatures features_now(const CooTensor& tensor) {
  ThreadPool pool(2);
  return features_of(tensor, pool);
}

const CountSummary& counts_of(const TensorFeatures& features, CountKind kind, std::size_t last) {
  for (const FeatureRow& row : features.rows) {
    if (row.kind == kind && row.modes.back() == last &&
        (row.modes.size() == 1 || row.modes[0] + 1 == last)) {
      return row.counts;
    }
  }
  throw std::runtime_error("no such row");
}

void expect_planned(const TensorPlan& plan, const CooTensor& tensor) {
  const std::size_t last = plan.sizes.size() - 1;
  EXPECT_EQ(tensor.num_entries(), plan.entries);
  for (std::size_t entry = 0; entry < tensor.num_entries(); ++entry) {
    for (std::size_t mode = 0; mode <= last; ++mode) {
      ASSERT_LT(tensor.indices[mode][entry], plan.sizes[mode]);
    }
    if (entry == 0) continue;
    ASSERT_LT(test::index_of_entry(tensor, entry - 1), test::index_of_entry(tensor, entry));
  }
  const TensorFeatures features = features_now(tensor);
  const CountSummary& fibers = counts_of(features, CountKind::kEntriesPerFiber, last);
  EXPECT_EQ(fibers.nonempty, plan.fibers);
  EXPECT_LE(fibers.max, plan.most_entries);
  if (last == 0) return;
  const CountSummary& slices = counts_of(features, CountKind::kFibersPerSlice, last);
  EXPECT_EQ(slices.nonempty, plan.slices);
  EXPECT_LE(slices.max, plan.most_fibers);
}

TEST(TensorGenerator, MeetsItsCountsExactlyForEveryOrder) {
  const std::vector<Index> shapes{
      {5000},          {60, 70},     {40, 1, 30},    {20, 30, 40},
      {9, 8, 7, 6, 5}, Index(12, 3), {1, 1, 1, 900}, {3, std::uint64_t{1} << 33, 1000}};
  for (const Index& sizes : shapes) {
    for (const double density : {0.001, 0.05, 0.6, 1.0}) {
      const double cells = num_cells(sizes);
      GeneratorOptions options{sizes, std::min(density, 60'000 / cells)};
      const TensorPlan plan = plan_tensor(options);
      EXPECT_EQ(plan.entries, static_cast<std::uint64_t>(std::llround(options.density * cells)));
      SCOPED_TRACE(testing::PrintToString(sizes) + " " + std::to_string(density));
      expect_planned(plan, generated(plan));
    }
  }
}

TEST(TensorGenerator, MeetsTheDensitiesThatAreAskedFor) {
  const TensorPlan plan = plan_tensor({{50, 40, 60}, 0.02, 0.3, 0.5, 0.4, 0.7});
  EXPECT_EQ(plan.entries, 2400u);
  EXPECT_EQ(plan.fibers, 600u);
  EXPECT_EQ(plan.slices, 25u);
  expect_planned(plan, generated(plan));
}

TEST(TensorGenerator, GivesTheSameForEveryNumberOfThreadsAndOthersForOtherSeeds) {
  const TensorPlan plan = plan_tensor({{300, 200, 500}, 0.005, 0.3, 0.9, 0.5, 0.8});
  const CooTensor one = generated(plan, 7, 1);
  for (const int threads : {2, 3, 8}) EXPECT_TRUE(generated(plan, 7, threads) == one);
  EXPECT_FALSE(generated(plan, 8, 1) == one);
}

TEST(TensorGenerator, SpreadsCountsAsAsked) {
  for (const double cv : {0.1, 0.25, 0.6, 1.2}) {
    const TensorPlan plan = plan_tensor({{400, 500, 4000}, 0.0015, 0.2, 1, cv, cv});
    const TensorFeatures features = features_now(generated(plan));
    EXPECT_NEAR(counts_of(features, CountKind::kFibersPerSlice, 2).cv_nonempty, cv, 0.1 * cv);
    EXPECT_NEAR(counts_of(features, CountKind::kEntriesPerFiber, 2).cv_nonempty, cv, 0.03 * cv);
  }
}

TEST(TensorGenerator, DrawsEntriesIndependentlyOfFibers) {
  // One slice with 8 fibres of 8 entries: 8 of 1,000 places are drawn for the slice and each fibre.
  const TensorPlan plan{{1000, 1000}, 64, 8, 1, 0, 0, 8, 8};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const CooTensor tensor = generated(plan, seed);
    ASSERT_EQ(tensor.num_entries(), 64u);
    std::vector<std::uint64_t> fibers, first_entries;
    for (std::size_t i = 0; i < 8; ++i) {
      fibers.push_back(tensor.indices[0][8 * i]);
      first_entries.push_back(tensor.indices[1][i]);
    }
    EXPECT_NE(fibers, first_entries) << seed;
  }
}

TEST(TensorGenerator, DrawsOtherPlacesForEveryFiber) {
  // More fibres than are drawn together, with an entry each at one of 2^40 places.
  constexpr std::uint64_t kFibers = 20'000;
  const Index sizes = {kFibers, std::uint64_t{1} << 40};
  const CooTensor tensor = generated({sizes, kFibers, kFibers, 1, 0, 0, kFibers, 1});
  std::set<std::uint64_t> places;
  for (std::size_t i = 0; i < kFibers; ++i) places.insert(tensor.indices[1][i]);
  EXPECT_EQ(places.size(), kFibers);
}

TEST(TensorGenerator, DrawsEverySliceForSomeSeed) {
  std::set<std::uint64_t> slices;
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    slices.insert(generated({{3, 10, 10}, 4, 2, 1, 0, 0, 10, 10}, seed).indices[0][0]);
  }
  EXPECT_THAT(slices, testing::ElementsAre(0, 1, 2));
}

// Kolmogorov-Smirnov: the greatest distance of the counts' distribution from the normal one.
TEST(CountDraws, AreNormalWhereTheMeanIsLarge) {
  ThreadPool pool(2);
  const std::uint64_t num = 20'000;
  std::vector<std::uint32_t> counts = draw_counts({num, num * 500, 100'000, 0.1}, 3, pool);
  std::sort(counts.begin(), counts.end());
  double distance = 0;
  for (std::size_t i = 0; i < num; ++i) {
    const double normal = 0.5 * std::erfc(-(counts[i] - 500.0) / 50 / std::sqrt(2.0));
    distance = std::max(distance, std::abs(normal - (static_cast<double>(i) + 0.5) / num));
  }
  EXPECT_LT(distance, 1.95 / std::sqrt(num)) << "a level of 0.1 %";
}

TEST(CountDraws, AreLogNormalWhereTheyVaryMuch) {
  ThreadPool pool(2);
  const std::uint64_t num = 20'000;
  std::vector<std::uint32_t> counts = draw_counts({num, num * 400, 10'000'000, 0.9}, 3, pool);
  std::sort(counts.begin(), counts.end());
  const double variance = std::log1p(0.81), middle = std::log(400.0) - variance / 2;
  double distance = 0;
  for (std::size_t i = 0; i < num; ++i) {
    const double z = (std::log(counts[i]) - middle) / std::sqrt(variance);
    distance = std::max(distance, std::abs(0.5 * std::erfc(-z / std::sqrt(2.0)) -
                                           (static_cast<double>(i) + 0.5) / num));
  }
  EXPECT_LT(distance, 0.03) << "the sample's own mean and spread are tuned";
}

TEST(CountDraws, KeepSumAndBoundsWhereThereIsLittleRoom) {
  ThreadPool pool(2);
  for (const CountRequest& request :
       {CountRequest{100, 100, 5, 2}, CountRequest{100, 500, 5, 0}, CountRequest{100, 499, 5, 3},
        CountRequest{100, 101, 5, 0.5}, CountRequest{1, 77, 90, 1}, CountRequest{0, 0, 1, 0}}) {
    const std::vector<std::uint32_t> counts = draw_counts(request, 5, pool);
    std::uint64_t sum = 0;
    for (const std::uint32_t count : counts) {
      EXPECT_GE(count, 1u);
      EXPECT_LE(count, request.most);
      sum += count;
    }
    EXPECT_EQ(counts.size(), request.counts);
    EXPECT_EQ(sum, request.sum);
  }
}

// Chi-squared of the entries at each of a mode's 100 indices, with 99 degrees of freedom.
double chi_squared(const CooTensor& tensor, std::size_t mode, double variance) {
  std::vector<double> counts(100);
  for (std::size_t entry = 0; entry < tensor.num_entries(); ++entry) {
    ++counts[tensor.indices[mode][entry]];
  }
  double chi = 0;
  for (const double count : counts) {
    const double distance = count - static_cast<double>(tensor.num_entries()) / 100;
    chi += distance * distance / variance;
  }
  return chi;
}

TEST(TensorGenerator, DrawsPlacesEvenly) {
  constexpr double kAtMost = 149;  // a level of 0.1 %
  EXPECT_LT(chi_squared(generated(plan_tensor({{100, 100, 100}, 0.05, 0.8})), 2, 500), kAtMost);
  // An entry in each of 50 fibres of every slice, which are drawn from 100 without replacement.
  const CooTensor single = generated(plan_tensor({{100, 100, 100}, 0.005, 0.5, 1, 0, 0}));
  EXPECT_LT(chi_squared(single, 1, 100 * 0.5 * 0.5), kAtMost);
}

TEST(TensorGenerator, DrawsValuesFromATenthToNine) {
  const CooTensor tensor = generated(plan_tensor({{100, 100, 100}, 0.05}));
  double sum = 0;
  for (const double value : tensor.values) {
    ASSERT_GE(value, 0.1);
    ASSERT_LE(value, 0.9);
    sum += value;
  }
  EXPECT_NEAR(sum / static_cast<double>(tensor.num_entries()), 0.5, 0.01);
}

TEST(Sibling, HasTheFeaturesThatWereAskedFor) {
  const std::vector<TensorPlan> plans{plan_tensor({{5000}, 0.05}),
                                      plan_tensor({{300, 4000}, 0.01, 0.8, 1, {}, 0.7}),
                                      plan_tensor({{200, 300, 900}, 0.004, 0.3, 0.9, 0.5, 0.8}),
                                      plan_tensor({{20, 30, 40, 50, 3}, 0.02})};
  for (const TensorPlan& plan : plans) {
    const TensorFeatures asked = features_now(generated(plan, 3));
    const TensorPlan sibling = plan_sibling(asked);
    const CooTensor tensor = generated(sibling, 4);
    expect_planned(sibling, tensor);
    const TensorFeatures features = features_now(tensor);
    EXPECT_EQ(features.sizes, asked.sizes);
    EXPECT_EQ(features.num_entries, asked.num_entries);
    const std::size_t last = plan.sizes.size() - 1;
    for (const CountKind kind : {CountKind::kEntriesPerFiber, CountKind::kFibersPerSlice}) {
      if (last == 0 && kind == CountKind::kFibersPerSlice) continue;
      const CountSummary &is = counts_of(features, kind, last), &was = counts_of(asked, kind, last);
      EXPECT_EQ(is.nonempty, was.nonempty);
      EXPECT_EQ(is.sum, was.sum);
      EXPECT_LE(is.max, was.max);
      EXPECT_NEAR(is.cv_nonempty, was.cv_nonempty, 0.1 * was.cv_nonempty + 0.01);
    }
  }
}

TEST(Sibling, NamesARowThatIsMissing) {
  TensorFeatures features = features_now(generated(plan_tensor({{30, 40}, 0.05})));
  std::erase_if(features.rows,
                [](const FeatureRow& row) { return row.kind == CountKind::kFibersPerSlice; });
  EXPECT_THAT([&] { plan_sibling(features); },
              ThrowsMessage<Error>(HasSubstr("no row fibers_per_slice of the last modes")));
}

TEST(TensorPlan, NamesTheNumbersThatContradictEachOther) {
  const auto expect_refused = [](const GeneratorOptions& options, const std::string& one,
                                 const std::string& other) {
    EXPECT_THAT([&] { plan_tensor(options); },
                ThrowsMessage<Error>(AllOf(HasSubstr(one), HasSubstr(other))));
  };
  expect_refused({{10, 10, 10}, 0.01, 0.5}, "10 nonzeros cannot fill 50 fibers",
                 "lower that of fibers");
  expect_refused({{10, 10, 10}, 0.5, 0.1}, "500 nonzeros do not fit 10 fibers of at most 10",
                 "raise that");
  expect_refused({{10, 10, 10}, 0.1, 0.05, 0.9}, "5 fibers cannot fill 9 slices",
                 "lower that of slices");
  expect_refused({{10, 10, 10}, 0.1, 0.9, 0.2}, "90 fibers do not fit 2 slices of at most 10",
                 "raise");
  expect_refused({{10, 10, 10}, 0, 0.5}, "0 nonzeros cannot fill 50 fibers", "raise the density");
  expect_refused({{10, 10, 10}, 0.1, 0.0}, "100 nonzeros need a slice and a fiber, and 0 fibers",
                 "raise the density of fibers");
  expect_refused({{10, 10, 10}, 0.1, 0.5, 0.0}, "50 fibers in 0 slices",
                 "raise the density of slices");
  // 13 in 10 of at most 5: 4 (or 3 and 1) more than one each. {4, 1 ...}: average 1.3, squares 2.5.
  expect_refused({{5, 5, 5}, 0.1, 0.4, {}, {}, 1e9},
                 "the nonzeros of a fiber cannot vary by 1000000000",
                 "13 nonzeros in 10 fibers of at most 5 vary by at most 0.6923");
  expect_refused({{5, 5, 5}, 1, {}, {}, {}, 0.5}, "the nonzeros of a fiber cannot vary by 0.5",
                 "125 nonzeros in 25 fibers of at most 5 vary by at most 0");
  expect_refused({{5, 5, 5}, 1, {}, {}, 0.5}, "the fibers of a slice cannot vary by 0.5",
                 "25 fibers in 5 slices of at most 5 vary by at most 0");
  expect_refused({{5, 5, 1}, 0.5, 0.1}, "13 nonzeros do not fit 3 fibers of at most 1", "raise");
  expect_refused({{10, 10}, 1.5}, "the density 1.5", "0 .. 1");
  expect_refused({{10, 10}, std::nan("")}, "the density nan", "0 .. 1");
  expect_refused({{10, 10}, 0.1, -0.5}, "the fiber density -0.5", "0 .. 1");
  expect_refused({{10, 10}, 0.1, {}, 2}, "the slice density 2", "0 .. 1");
  expect_refused({{10, 10}, 0.5, {}, {}, -1}, "coefficient of variation", "not negative");
  expect_refused({{100'000, 100'000, 100'000}, 0.5}, "asks for 500000000000000 nonzeros",
                 "the most");
  expect_refused({{~std::uint64_t{0}, 9, 9, 9, 9}, 1e-20}, "more than 2^63 slices", "");
  expect_refused({{10, 0}, 0.5}, "mode 1 has size 0", "");
  expect_refused({{}, 0.5}, "1 to 32 modes, not 0", "");
}

// {5, 5, 3, 1 x 7} is the widest spread of 20 over 10.
TEST(TensorPlan, TakesTheGreatestVariationThatATensorCanHave) {
  const double most = std::sqrt(66.0 / 10 - 4) / 2;
  TensorPlan plan{{10, 10, 5}, 20, 10, 10, 0, most, 10, 5};
  EXPECT_NO_THROW(check_plan(plan));
  plan.cv_entries = most + 1e-5;
  EXPECT_THROW(check_plan(plan), Error);
  for (const std::uint64_t size : {1, 2, 3, 9}) {
    for (const double density : {0.01, 0.3, 0.99, 1.0}) {
      EXPECT_NO_THROW(plan_tensor({{size, size, size}, density})) << size << " " << density;
    }
  }
}

TEST(TensorPlan, HasAtMostTheSlicesOfTheTensor) {
  EXPECT_NO_THROW(check_plan({{3, 10, 10}, 4, 4, 3, 0, 0, 10, 10}));
  EXPECT_THAT(
      [] {
        check_plan({{3, 10, 10}, 4, 4, 4, 0, 0, 10, 10});
      },
      ThrowsMessage<Error>(HasSubstr("4 slices with nonzeros, but there are only 3")));
}

TEST(TensorPlan, ExpectsTheFibersAndSlicesOfARandomTensor) {
  const TensorPlan plan = plan_tensor({{8, 2, 2}, 0.25});
  EXPECT_EQ(plan.entries, 8u);
  EXPECT_EQ(plan.fibers, 7u) << "16 (1 - (3/4)^2)";
  EXPECT_EQ(plan.slices, 5u) << "8 (1 - (9/16)^2) = 5.47";
}

TEST(TensorPlan, WithoutEntriesIsAnEmptyTensor) {
  const TensorPlan plan = plan_tensor({{10, 10, 10}, 0});
  EXPECT_EQ(generated(plan).num_entries(), 0u);
  EXPECT_EQ(plan.fibers, 0u);
}

}  // namespace
}  // namespace tandem::sparse
