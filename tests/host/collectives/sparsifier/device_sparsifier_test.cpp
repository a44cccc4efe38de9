// SPDX-License-Identifier: Apache-2.0
//
// Sparsifiers over a device's selection unit against those of the same name in host memory: equal
// bits of means, residuals and states.
#include "collectives/sparsifier/device_sparsifier.h"

#include <gmock/gmock.h>

#include <limits>

#include "cpu/selection_unit.h"
#include "host/collectives/api/groups.h"
#include "host/collectives/sparsifier/training.h"

namespace tandem::collectives::test {
namespace {

constexpr int kWorld = 4;
constexpr std::uint64_t kSize = 5000;

device::GradientView view_of(const Gradient& gradient) {
  return {std::as_bytes(std::span(gradient)), DType::kF32, {}};
}

std::unique_ptr<DeviceSparsifier> make(std::string_view name, const SparsifierOptions& options,
                                       std::uint64_t num_values = kSize) {
  return make_device_sparsifier(name, device::cpu::make_selection_unit({num_values, false}),
                                options);
}

// As train(), on devices; from the given states on, if there are some.
std::vector<RankHistory> train_on_devices(const Training& training,
                                          const std::vector<SparsifierState>& states = {}) {
  std::vector<RankHistory> histories(static_cast<std::size_t>(training.world));
  const GradientOf gradient =
      training.gradient ? training.gradient : training_gradients(training.num_values);
  run_groups(training.world, [&](Group& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    RankHistory& history = histories[rank];
    const auto sparsifier = make(training.name, training.options, training.num_values);
    if (!states.empty()) sparsifier->restore(states[rank]);
    try {
      for (std::uint64_t i = 0; i < training.steps; ++i) {
        const Gradient own = gradient(group.rank(), sparsifier->num_steps());
        history.steps.push_back(sparsifier->step(group, view_of(own)));
      }
    } catch (const Error& error) {
      history.error = error.what();
    }
    history.state = sparsifier->state();
  });
  return histories;
}

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

Training training_of(const std::string& name, double density) {
  Training training;
  training.name = name;
  training.num_values = kSize;
  training.world = kWorld;
  training.options = plain_options(density);
  return training;
}

TEST(DeviceSparsifier, GivesTheBitsOfTheSparsifierInHostMemory) {
  for (const std::string& name : device_sparsifier_names()) {
    for (const double density : {0.0, 0.001, 0.05, 1.0}) {
      SCOPED_TRACE(name + " at " + std::to_string(density));
      const Training training = training_of(name, density);
      expect_same(train_on_devices(training), train(training));
    }
  }
  Training own = training_of("topk", 0.01);
  own.options.only_own_entries = true;
  expect_same(train_on_devices(own), train(own));
  Training published = training_of("micro", 0.01);
  published.options.published_control = true;
  expect_same(train_on_devices(published), train(published));
  Training automatic = training_of("hard_threshold", 0.01);
  automatic.options.hard_threshold = 0;
  expect_same(train_on_devices(automatic), train(automatic));
}

TEST(DeviceSparsifier, ZeroGradientsAndSmallOnesAreSelectedFromAsOnTheHost) {
  for (const std::string& name : device_sparsifier_names()) {
    for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{3}, kSize}) {
      Training training = training_of(name, 0.01);
      training.num_values = size;
      training.gradient = [size](int rank, std::uint64_t step) {
        return step < 3 ? Gradient(size, 0.0f) : training_gradient(size, rank, step);
      };
      SCOPED_TRACE(name + " of " + std::to_string(size));
      expect_same(train_on_devices(training), train(training));
    }
  }
}

TEST(DeviceSparsifier, AStateGoesOnInHostMemoryAndComesBack) {
  for (const std::string& name : device_sparsifier_names()) {
    const Training training = training_of(name, 0.02);
    std::vector<SparsifierState> states;
    for (const RankHistory& rank : train_on_devices(training)) states.push_back(rank.state);
    expect_same(train_on_devices(training, states), resume(training, states));
  }
}

TEST(DeviceSparsifier, WhatIsNotFiniteStopsSkipsOrIsClippedAsOnTheHost) {
  for (const NonFinite rule : {NonFinite::kStop, NonFinite::kSkip, NonFinite::kClip}) {
    Training training = training_of("topk", 0.01);
    training.options.non_finite = rule;
    training.gradient = [](int rank, std::uint64_t step) {
      Gradient gradient = training_gradient(kSize, rank, step);
      if (rank == 2 && step == 1) {
        gradient[77] = std::numeric_limits<float>::quiet_NaN();
        gradient[4000] = -std::numeric_limits<float>::infinity();
      }
      return gradient;
    };
    const auto got = train_on_devices(training);
    expect_same(got, train(training));
    EXPECT_THAT(got[0].error, rule == NonFinite::kStop
                                  ? testing::HasSubstr("step 1: value 77 of the gradient of rank 2")
                                  : testing::HasSubstr(""));
  }
}

TEST(DeviceSparsifier, AGradientThatTheUnitRefusesOnOneRankIsAnErrorOnAll) {
  Training training = training_of("micro", 0.01);
  training.gradient = [](int rank, std::uint64_t step) {
    return Gradient(rank == 1 && step == 2 ? kSize - 1 : kSize, 1.0f);
  };
  for (const RankHistory& rank : train_on_devices(training)) {
    EXPECT_THAT(rank.error, testing::HasSubstr("rank 1: "));
    EXPECT_THAT(rank.error, testing::HasSubstr("4999 values"));
    EXPECT_EQ(rank.steps.size(), 2u);
  }
}

TEST(DeviceSparsifier, RanksWithOtherOptionsOrNoDeviceGetTheSameError) {
  const auto errors = [](const std::function<void(Group&, const Gradient&)>& step) {
    std::vector<std::string> texts;
    for (const RankResult& rank : run_groups(
             2, [&](Group& group) { step(group, training_gradient(kSize, group.rank(), 0)); })) {
      texts.push_back(rank.text);
    }
    return texts;
  };
  const auto densities = errors([](Group& group, const Gradient& gradient) {
    make("topk", {.density = group.rank() == 0 ? 0.5 : 0.25})->step(group, view_of(gradient));
  });
  EXPECT_THAT(densities, testing::Each(testing::HasSubstr("density is 0.5 on rank 0 and 0.25")));
  const auto places = errors([](Group& group, const Gradient& gradient) {
    if (group.rank() == 0) {
      make("topk", {})->step(group, view_of(gradient));
    } else {
      make_sparsifier("topk", kSize)->step(group, gradient);
    }
  });
  EXPECT_THAT(places, testing::Each(testing::HasSubstr("topk on a device on rank 0")));
}

TEST(DeviceSparsifier, OtherNamesAndOptionsAreRefusedWithTheNamesThatThereAre) {
  const auto error_of = [](std::string_view name, const SparsifierOptions& options) {
    try {
      make(name, options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_THAT(error_of("sidco", {}), testing::HasSubstr("there are: topk, hard_threshold, micro"));
  EXPECT_THAT(error_of("topk", {.density = 2}), testing::HasSubstr("density"));
  SparsifierOptions narrow;
  narrow.reduce.wire = DType::kF16;
  EXPECT_THAT(error_of("topk", narrow), testing::HasSubstr("16-bit"));
  EXPECT_EQ(error_of("topk", {}), "none");
  EXPECT_EQ(make("hard_threshold", {})->clearing_rule(), ClearingRule::kOwn);
  EXPECT_EQ(make("micro", {})->clearing_rule(), ClearingRule::kAllGlobal);
  SparsifierState other = make("topk", {})->state();
  other.name = "micro";
  EXPECT_THROW(make("topk", {})->restore(other), Error);
}

}  // namespace
}  // namespace tandem::collectives::test
