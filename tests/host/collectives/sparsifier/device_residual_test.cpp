// SPDX-License-Identifier: Apache-2.0
//
// Sparsifiers whose residual lies in a device's memory against those in host memory: equal bits of
// means, residuals and states. The gradients' sums are exact in f64, whatever their order.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <tuple>

#include "host/collectives/api/groups.h"
#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {
namespace {

constexpr int kWorld = 3;
constexpr std::uint64_t kSize = 5000;

using Named = std::tuple<std::string, Residence>;

class DeviceResidual : public testing::TestWithParam<Named> {
 protected:
  void SetUp() override {
    if (!residence().missing.empty()) GTEST_SKIP() << residence().missing;
  }
  const std::string& name() const { return std::get<0>(GetParam()); }
  const Residence& residence() const { return std::get<1>(GetParam()); }
  Training training(double density) const {
    Training training;
    training.name = name();
    training.num_values = kSize;
    training.world = kWorld;
    training.steps = 6;
    training.options = plain_options(density);
    training.options.threshold_steps = 4;
    training.residence = residence();
    training.keep_residuals = false;
    return training;
  }
};

void expect_same(const std::vector<RankHistory>& got, const std::vector<RankHistory>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t rank = 0; rank < got.size(); ++rank) {
    SCOPED_TRACE(testing::Message() << "rank " << rank);
    EXPECT_EQ(got[rank].error, expected[rank].error);
    ASSERT_EQ(got[rank].steps.size(), expected[rank].steps.size());
    for (std::size_t step = 0; step < got[rank].steps.size(); ++step) {
      const StepResult& a = got[rank].steps[step];
      const StepResult& b = expected[rank].steps[step];
      ASSERT_EQ(indices_of(a.mean), indices_of(b.mean)) << "step " << step;
      ASSERT_EQ(values_of(a.mean), values_of(b.mean)) << "step " << step;
      EXPECT_EQ(a.skipped, b.skipped);
      EXPECT_EQ(a.selected, b.selected);
      EXPECT_EQ(a.selected_total, b.selected_total);
      EXPECT_EQ(a.sent, b.sent);
      EXPECT_EQ(a.build_up, b.build_up);
    }
    EXPECT_EQ(got[rank].state.numbers, expected[rank].state.numbers);
    EXPECT_EQ(got[rank].state.tensors, expected[rank].state.tensors);
    EXPECT_EQ(got[rank].state.step, expected[rank].state.step);
  }
}

Training in_host_memory(Training training) {
  training.residence = {};
  return training;
}

void expect_host_bits(const Training& training) {
  expect_same(train(training), train(in_host_memory(training)));
}

TEST_P(DeviceResidual, GivesTheBitsOfHostMemoryAtEveryDensity) {
  for (const double density : {0.0, 0.001, 0.05, 1.0}) {
    SCOPED_TRACE(density);
    expect_host_bits(training(density));
  }
}

TEST_P(DeviceResidual, GivesTheBitsOfHostMemoryWithTheOptionsOfItsAlgorithm) {
  Training other = training(0.01);
  other.options.only_own_entries = true;
  other.options.hard_threshold = 0;
  other.options.published_control = true;
  other.options.layer_sizes = {1200, 7, 3000, 793};
  other.options.momentum = 0.5;
  other.options.clip_norm = 64;
  other.options.local_steps = 2;
  other.options.decay = 0.5;
  other.options.sidco_fit = SidcoFit::kGeneralisedPareto;
  expect_host_bits(other);
}

TEST_P(DeviceResidual, KeepsTheRoundingErrorsOf16BitsAsHostMemoryDoes) {
  Training narrow = training(0.02);
  for (const DType wire : {DType::kF16, DType::kBF16}) {
    narrow.options.reduce.wire = wire;
    expect_host_bits(narrow);
  }
}

TEST_P(DeviceResidual, SelectsFromZeroGradientsAndSmallOnes) {
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{4097}}) {
    Training small = training(0.01);
    small.num_values = size;
    small.gradient = [size](int rank, std::uint64_t step) {
      return step < 3 ? Gradient(size, 0.0f) : training_gradient(size, rank, step);
    };
    SCOPED_TRACE(size);
    expect_host_bits(small);
  }
}

TEST_P(DeviceResidual, AStateGoesOnInHostMemoryAndComesBack) {
  const Training run = training(0.02);
  std::vector<SparsifierState> states;
  for (const RankHistory& rank : train(run)) states.push_back(rank.state);
  expect_same(resume(run, states), resume(in_host_memory(run), states));
}

TEST_P(DeviceResidual, WhatIsNotFiniteStopsSkipsOrIsClipped) {
  for (const NonFinite rule : {NonFinite::kStop, NonFinite::kSkip, NonFinite::kClip}) {
    Training bad = training(0.01);
    bad.options.non_finite = rule;
    bad.options.clip_norm = 100;
    bad.gradient = [](int rank, std::uint64_t step) {
      Gradient gradient = training_gradient(kSize, rank, step);
      if (rank == 2 && step == 1) {
        gradient[77] = std::numeric_limits<float>::quiet_NaN();
        gradient[4000] = -std::numeric_limits<float>::infinity();
      }
      return gradient;
    };
    const auto got = train(bad);
    expect_same(got, train(in_host_memory(bad)));
    const std::string named = "step 1: value 77 of the gradient of rank 2";
    EXPECT_EQ(got[0].error.find(named) != std::string::npos, rule == NonFinite::kStop);
  }
}

TEST_P(DeviceResidual, RanksOnDevicesAndInHostMemoryAgree) {
  const Training run = training(0.02);
  const auto all_on_host = train(in_host_memory(run));
  std::vector<std::vector<StepResult>> steps(kWorld);
  const auto outcomes = run_groups(kWorld, [&](Group& group) {
    const auto sparsifier = make(group.rank() == 1 ? run : in_host_memory(run));
    for (std::uint64_t step = 0; step < run.steps; ++step) {
      const Gradient gradient = training_gradient(kSize, group.rank(), step);
      steps[static_cast<std::size_t>(group.rank())].push_back(sparsifier->step(group, gradient));
    }
  });
  for (const RankResult& outcome : outcomes) ASSERT_EQ(outcome.text, "");
  for (const auto& rank : steps) {
    for (std::size_t step = 0; step < rank.size(); ++step) {
      EXPECT_EQ(values_of(rank[step].mean), values_of(all_on_host[0].steps[step].mean)) << step;
    }
  }
}

TEST_P(DeviceResidual, AGradientInPiecesIsAddedAsAWhole) {
  const Training run = training(0.02);
  const auto whole = train(run);
  std::vector<std::vector<StepResult>> steps(kWorld);
  const auto outcomes = run_groups(kWorld, [&](Group& group) {
    const auto sparsifier = make(run);
    for (std::uint64_t step = 0; step < run.steps; ++step) {
      const Gradient gradient = training_gradient(kSize, group.rank(), step);
      std::vector<device::GradientView> pieces;
      std::size_t begin = 0;
      for (const std::size_t count : {std::size_t{1}, std::size_t{4098}, std::size_t{901}}) {
        pieces.push_back({std::as_bytes(std::span(gradient).subspan(begin, count)), {}, {}});
        begin += count;
      }
      steps[static_cast<std::size_t>(group.rank())].push_back(
          sparsifier->step(group, GradientPieces(pieces)));
    }
  });
  for (const RankResult& outcome : outcomes) ASSERT_EQ(outcome.text, "");
  for (std::size_t step = 0; step < run.steps; ++step) {
    EXPECT_EQ(values_of(steps[0][step].mean), values_of(whole[0].steps[step].mean)) << step;
  }
}

TEST_P(DeviceResidual, ARefusedGradientOnOneRankIsAnErrorOnAll) {
  Training wrong = training(0.01);
  wrong.gradient = [](int rank, std::uint64_t step) {
    return Gradient(rank == 1 && step == 2 ? kSize - 1 : kSize, 1.0f);
  };
  for (const RankHistory& rank : train(wrong)) {
    EXPECT_THAT(rank.error, testing::HasSubstr("rank 1: the gradient has 4999 values"));
    EXPECT_EQ(rank.steps.size(), 2u);
  }
  const Gradient gradient(kSize);
  const auto outcomes = run_groups(2, [&](Group& group) {
    device::GradientView view{std::as_bytes(std::span(gradient)), DType::kF32, {}};
    if (group.rank() == 1) view.placement = {Memory::kDevice, "cuda:7", nullptr};
    make(training(0.01))->step(group, GradientPieces(&view, 1));
  });
  for (const RankResult& outcome : outcomes) {
    EXPECT_THAT(outcome.text, testing::HasSubstr("cuda:7"));
    EXPECT_EQ(outcome.outcome, Outcome::kError);
  }
}

TEST_P(DeviceResidual, TheResidualsNormIsThatOfHostMemory) {
  run_groups(1, [&](Group& group) {
    const auto here = make(training(0.01)), there = make(in_host_memory(training(0.01)));
    const Gradient gradient = training_gradient(kSize, 0, 0);
    here->step(group, gradient);
    there->step(group, gradient);
    EXPECT_GT(there->residual_norm(), 0);
    EXPECT_EQ(here->residual_norm(), there->residual_norm());
  });
}

INSTANTIATE_TEST_SUITE_P(Names, DeviceResidual,
                         testing::Combine(testing::ValuesIn(sparsifier_names()),
                                          testing::ValuesIn(residences())),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param).name;
                         });

TEST(DeviceResidualOptions, EveryFitOfSidcoSelectsAsInHostMemory) {
  for (const Residence& residence : residences()) {
    if (!residence.missing.empty()) continue;
    for (const SidcoFit fit :
         {SidcoFit::kExponential, SidcoFit::kGeneralisedPareto, SidcoFit::kGamma}) {
      Training run;
      run.name = "sidco";
      run.num_values = kSize;
      run.steps = 22;  // several reviews of the stages
      run.options = plain_options(0.01);
      run.options.sidco_fit = fit;
      run.residence = residence;
      const auto got = train(run);
      const auto expected = train(in_host_memory(run));
      EXPECT_EQ(got[0].state.numbers, expected[0].state.numbers) << residence.name;
      for (std::size_t step = 0; step < run.steps; ++step) {
        // Logarithms are added up in another order: the threshold may lie a rounding off.
        EXPECT_NEAR(static_cast<double>(got[0].steps[step].mean.num_entries),
                    static_cast<double>(expected[0].steps[step].mean.num_entries),
                    fit == SidcoFit::kGamma ? 4 : 0);
      }
    }
  }
}

TEST(DeviceResidualOptions, AUnitWithoutAVelocityIsRefusedWhereItIsNeeded) {
  EXPECT_TRUE(selection_shape("dgc", 10).velocity);
  EXPECT_FALSE(selection_shape("micro", 10).velocity);
  EXPECT_THROW(selection_shape("none", 10), Error);
  for (const Residence& residence : residences()) {
    if (!residence.make || !residence.missing.empty()) continue;
    EXPECT_THROW(make_sparsifier("dgc", residence.make({10, false})), Error);
    EXPECT_EQ(make_sparsifier("dgc", residence.make({10, true}))->num_values(), 10u);
    EXPECT_THROW(make_sparsifier("topk", residence.make({10, false}), {.density = 2}), Error);
  }
}

}  // namespace
}  // namespace tandem::collectives::test
