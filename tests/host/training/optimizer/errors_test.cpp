// SPDX-License-Identifier: Apache-2.0
//
// What an optimiser refuses, and what the text says.
#include <gmock/gmock.h>

#include <functional>

#include "common/error.h"
#include "training/optimizer/optimizer.h"

namespace tandem::training::test {
namespace {

std::string text_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

class OptimizerErrors : public testing::Test {
 protected:
  std::string add(const OptimizedParameter& parameter) {
    return text_of([&] { optimizer_.add(parameter); });
  }
  std::string add_rule(const UpdateRule& rule) {
    return add({.name = "w", .count = 4, .rule = rule});
  }

  ThreadPool pool_{1};
  Optimizer optimizer_{pool_};
  std::vector<float> four_ = {1, 2, 3, 4};
};

TEST_F(OptimizerErrors, ARuleOutOfRangeNamesItsField) {
  using testing::HasSubstr;
  EXPECT_THAT(add_rule(Adam{.beta1 = 1}), HasSubstr("beta1"));
  EXPECT_THAT(add_rule(Adam{.beta2 = -0.1}), HasSubstr("beta2"));
  EXPECT_THAT(add_rule(RowAdam{.epsilon = -1}), HasSubstr("epsilon"));
  EXPECT_THAT(add_rule(Adam{.weight_decay = INFINITY}), HasSubstr("weight_decay"));
  EXPECT_THAT(add_rule(Sgd{.momentum = 1.5}), HasSubstr("momentum"));
  EXPECT_THAT(add_rule(Sgd{.nesterov = true}), HasSubstr("nesterov"));
  EXPECT_THAT(add_rule(RowwiseAdagrad{.initial_sum = -1}), HasSubstr("initial_sum"));
}

TEST_F(OptimizerErrors, AParameterThatDoesNotFitIsNamed) {
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_EQ(add({.name = "w", .count = 4}), "no error");
  EXPECT_THAT(add({.name = "w", .count = 4}), HasSubstr("taken"));
  EXPECT_THAT(add({.name = "v", .count = 5, .width = 2}), AllOf(HasSubstr("v"), HasSubstr("5")));
  EXPECT_THAT(add({.name = "v", .count = 5, .owned_first = 3, .owned_count = 3}),
              HasSubstr("[3, 6)"));
  EXPECT_THAT(add({.name = "v",
                   .count = 8,
                   .width = 4,
                   .rule = RowwiseAdagrad{},
                   .owned_first = 2,
                   .owned_count = 4}),
              HasSubstr("whole rows of 4"));
}

TEST_F(OptimizerErrors, AnUpdateThatDoesNotFitWritesNothing) {
  using testing::HasSubstr;
  const auto w = optimizer_.add({.name = "w", .count = 8, .owned_first = 4, .owned_count = 4});
  const StepFactors step = {1, 0.1, 1};
  const std::vector<float> gradient(4, 1.0f);
  const auto update = [&](const StepFactors& factors, RangeUpdate range) {
    range.weights = four_;
    return text_of([&] { optimizer_.update(factors, range); });
  };
  const std::span<const float> three = std::span(gradient).first(3);
  EXPECT_THAT(update(step, {.parameter = w, .first = 4, .gradient = three}), HasSubstr("not 3"));
  EXPECT_THAT(update(step, {.parameter = w, .first = 3, .gradient = gradient}),
              HasSubstr("[3, 7)"));
  EXPECT_THAT(update(step, {.parameter = 9, .first = 4, .gradient = gradient}), HasSubstr("9"));
  EXPECT_THAT(update({0, 0.1, 1}, {.parameter = w, .first = 4, .gradient = gradient}),
              HasSubstr("from 1"));
  EXPECT_THAT(update({1, NAN, 1}, {.parameter = w, .first = 4, .gradient = gradient}),
              HasSubstr("learning_rate"));
  EXPECT_THAT(update({1, 0.1, -1}, {.parameter = w, .first = 4, .gradient = gradient}),
              HasSubstr("gradient_scale"));
  EXPECT_THAT(four_, testing::ElementsAre(1, 2, 3, 4));
}

TEST_F(OptimizerErrors, RulesThatChangeUntouchedRowsTakeNoRows) {
  using testing::HasSubstr;
  const auto adam = optimizer_.add({.name = "a", .count = 4, .width = 2});
  const auto sgd =
      optimizer_.add({.name = "s", .count = 4, .width = 2, .rule = Sgd{.momentum = 0.9}});
  const auto rows = optimizer_.add({.name = "r", .count = 4, .width = 2, .rule = RowAdam{}});
  const std::vector<std::uint32_t> one = {1}, two = {2};
  const std::vector<float> gradient(2, 1.0f);
  const auto update = [&](std::uint32_t parameter, const std::vector<std::uint32_t>& list,
                          std::span<const float> values) {
    return text_of([&] {
      optimizer_.update_rows(
          {1, 0.1, 1},
          {.parameter = parameter, .rows = list, .gradient = values, .weights = four_});
    });
  };
  EXPECT_THAT(update(adam, one, gradient), HasSubstr("takes no rows"));
  EXPECT_THAT(update(sgd, one, gradient), HasSubstr("with momentum"));
  EXPECT_THAT(update(rows, two, gradient), HasSubstr("row 2"));
  EXPECT_THAT(update(rows, one, std::span(gradient).first(1)), HasSubstr("not 1"));
  EXPECT_THAT(four_, testing::ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(update(rows, one, gradient), "no error");
}

}  // namespace
}  // namespace tandem::training::test
