// SPDX-License-Identifier: Apache-2.0
//
// Buckets that fill while gradients arrive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/training/reducer/reducers.h"
#include "training/reducer/gradient_buckets.h"

namespace tandem::training::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Shapes kBucketModel = {{"a", {40, 10}}, {"b", {90}}, {"c", {17, 3}}, {"d", {200}}};

// The lists of parameters of all buckets so far, in the order of their first calls.
std::vector<std::vector<std::string>> compositions(Reducer& reducer) {
  std::vector<std::vector<std::string>> lists;
  for (const BucketStatistics& bucket : reducer.statistics().buckets) {
    lists.push_back(bucket.parameters);
  }
  return lists;
}

// A step whose gradients arrive in `order`; checks the means against the naive ones.
void step(GradientBuckets& buckets, Group& group, std::uint64_t number,
          const std::vector<std::size_t>& order) {
  std::vector<Values> gradients;
  for (std::size_t i = 0; i < kBucketModel.size(); ++i) {
    gradients.push_back(
        gradient_of(i, num_values_of(kBucketModel[i].second), group.rank(), number));
  }
  for (const std::size_t parameter : order) buckets.ready(parameter, gradients[parameter]);
  buckets.finish(Deadline::never());
  for (const std::size_t parameter : order) {
    const auto mean = buckets.mean(parameter);
    EXPECT_THAT(gradients[parameter], testing::ElementsAreArray(mean.begin(), mean.end()));
    for (std::size_t i = 0; i < mean.size(); ++i) {
      double expected = 0;
      for (int rank = 0; rank < group.world(); ++rank) {
        expected += gradient_of(parameter, mean.size(), rank, number)[i] / group.world();
      }
      ASSERT_NEAR(mean[i], expected, 1e-5);
    }
  }
}

TEST(GradientBuckets, GoBackwardsFirstAndThenInTheOrderInWhichGradientsArrivedAtRank0) {
  expect_all_done(run_groups(2, [&](Group& group) {
    Reducer reducer(group, plain_options("dense", 1));
    GradientBuckets buckets(reducer, 1200, kBucketModel);  // 300 values
    step(buckets, group, 0,
         group.rank() == 0 ? std::vector<std::size_t>{2, 3, 0, 1}
                           : std::vector<std::size_t>{0, 1, 2, 3});
    EXPECT_THAT(compositions(reducer),
                ElementsAre(ElementsAre("d", "c"), ElementsAre("b"), ElementsAre("a")));
    for (std::uint64_t number = 1; number < 4; ++number) {
      step(buckets, group, number,
           group.rank() == 0 ? std::vector<std::size_t>{3, 2, 1, 0}
                             : std::vector<std::size_t>{0, 3, 1, 2});
    }
    EXPECT_THAT(compositions(reducer), ElementsAre(ElementsAre("d", "c"), ElementsAre("b"),
                                                   ElementsAre("a"), ElementsAre("c", "d")));
    EXPECT_EQ(reducer.step(), 4u);
    EXPECT_EQ(reducer.statistics().buckets[3].calls, 3u);
  }));
}

// The first bucket has at most 1 MiB, so that its exchange begins early; the others have the size
// that was asked for.
TEST(GradientBuckets, TheFirstBucketIsSmall) {
  expect_all_done(run_groups(1, [&](Group& group) {
    Reducer reducer(group, plain_options("dense", 1));
    const Shapes shapes = {{"x", {300'000}}, {"y", {300'000}}, {"z", {200'000}}, {"w", {200'000}}};
    EXPECT_EQ(GradientBuckets(reducer, std::uint64_t{64} << 20, shapes).num_buckets(), 2u);
  }));
}

TEST(GradientBuckets, BeginWithAnOrderOfBefore) {
  expect_all_done(run_groups(2, [&](Group& group) {
    std::vector<std::uint32_t> order;
    {
      Reducer reducer(group, plain_options("dense", 1));
      GradientBuckets buckets(reducer, 1200, kBucketModel);
      EXPECT_THAT(buckets.order(), ElementsAre());
      step(buckets, group, 0, {2, 3, 0, 1});
      EXPECT_THAT(buckets.order(), ElementsAre(2, 3, 0, 1));
      step(buckets, group, 1, {0, 1, 2, 3});
      order = buckets.order();
    }
    Reducer reducer(group, plain_options("dense", 1));
    GradientBuckets buckets(reducer, 1200, kBucketModel, order);
    EXPECT_THAT(buckets.order(), ElementsAre(2, 3, 0, 1));
    for (std::uint64_t number = 0; number < 2; ++number) {
      step(buckets, group, number, {0, 1, 2, 3});  // does not change it
    }
    EXPECT_THAT(compositions(reducer),
                ElementsAre(ElementsAre("c", "d"), ElementsAre("a"), ElementsAre("b")));
    Reducer other(group, plain_options("dense", 1));
    EXPECT_THROW(GradientBuckets(other, 1200, kBucketModel, {2, 3, 0, 0}), Error);
  }));
}

TEST(GradientBuckets, CountAMissingGradientAsZerosAndStillGiveItsMean) {
  expect_all_done(run_groups(2, [&](Group& group) {
    Reducer reducer(group, plain_options("dense", 1));
    GradientBuckets buckets(reducer, 1 << 20, kBucketModel);
    for (int round = 0; round < 2; ++round) {
      Values used(90, 4), unused(51, 6);
      buckets.ready(1, used);
      if (group.rank() == 1) buckets.ready(2, unused);
      buckets.finish(Deadline::never());
      EXPECT_THAT(used, testing::Each(4.0f));
      EXPECT_THAT(buckets.mean(2), testing::Each(3.0f));
      EXPECT_THAT(buckets.mean(0), testing::Each(0.0f));
    }
  }));
}

TEST(GradientBuckets, RefuseAGradientTwiceOrOfAnotherSize) {
  expect_all_done(run_groups(1, [&](Group& group) {
    Reducer reducer(group, plain_options("dense", 1));
    GradientBuckets buckets(reducer, 1 << 20, kBucketModel);
    Values own(90);
    buckets.ready(1, own);
    EXPECT_THAT(text_of([&] { buckets.ready(1, own); }), HasSubstr("came twice in a step"));
    EXPECT_THAT(text_of([&] { buckets.ready(0, own); }),
                HasSubstr("has 90 values, the parameter 400"));
    buckets.finish(Deadline::never());
    buckets.ready(1, own);
  }));
}

TEST(GradientBuckets, LeaveGradientsAloneWhereABucketFailsAndGoOn) {
  expect_all_done(run_groups(2, [&](Group& group) {
    Reducer reducer(group, plain_options("dense", 1));
    GradientBuckets buckets(reducer, 1200, kBucketModel);
    Values good(90, 1 + group.rank()), bad(200, group.rank() == 0 ? NAN : 1);
    buckets.ready(3, bad);
    buckets.ready(1, good);
    EXPECT_THAT(text_of([&] { buckets.finish(Deadline::never()); }),
                HasSubstr("step 0: the gradient of d on rank 0"));
    EXPECT_THAT(good, testing::Each(1.0f + group.rank()));
    for (int step = 1; step < 4; ++step) {  // the order is agreed on after the first good one
      std::ranges::fill(good, 1.0f + group.rank());
      buckets.ready(1, good);
      buckets.finish(Deadline::never());
      EXPECT_THAT(good, testing::Each(1.5f)) << step;
    }
  }));
}

}  // namespace
}  // namespace tandem::training::test
