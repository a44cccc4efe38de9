// SPDX-License-Identifier: Apache-2.0
//
// The memory of parameters and how they are drawn.
#include "training/trainer/parameter_set.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "common/error.h"

namespace tandem::training {
namespace {

ParameterSet make_set() {
  return ParameterSet(
      {{"matrix", {100, 33}, 0.5f, 0}, {"norm", {7}, 0, 1}, {"other", {100, 33}, 0.5f, 0}});
}

TEST(ParameterSet, DrawsANormalDistributionFromTheSeed) {
  ParameterSet set(
      {{"matrix", {200, 101}, 0.5f, 0}, {"other", {200, 101}, 0.5f, 0}, {"norm", {7}, 0, 1}});
  set.draw(3);
  const auto values = set.values(0);
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  int beyond = 0;
  for (const float value : values) {
    squares += (value - mean) * (value - mean);
    beyond += std::abs(value) > 0.5f;
  }
  EXPECT_NEAR(mean, 0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / count), 0.5, 0.02);
  EXPECT_NEAR(beyond / count, 0.317, 0.02);  // beyond one deviation
  EXPECT_NE(values[0], set.values(1)[0]);
  for (const float value : set.values(2)) EXPECT_EQ(value, 1.0f);
  const float first = values[0];
  set.draw(4);
  EXPECT_NE(values[0], first);
  set.draw(3);
  EXPECT_EQ(values[0], first);
}

TEST(ParameterSet, KeepsParametersApartAndAligned) {
  ParameterSet set = make_set();
  EXPECT_EQ(set.num_values(), 2 * 3300u + 7u);
  for (std::size_t parameter = 0; parameter < set.size(); ++parameter) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(set.values(parameter).data()) % 64, 0u);
    for (float& value : set.values(parameter)) value = static_cast<float>(parameter);
    for (float& value : set.gradient(parameter)) value = -static_cast<float>(parameter) - 1;
  }
  for (std::size_t parameter = 0; parameter < set.size(); ++parameter) {
    for (const float value : set.values(parameter)) ASSERT_EQ(value, static_cast<float>(parameter));
  }
  set.clear_gradients();
  for (const float value : set.gradient(2)) ASSERT_EQ(value, 0.0f);
  for (const float value : set.values(2)) ASSERT_EQ(value, 2.0f);
}

TEST(ParameterSet, FindsByName) {
  const ParameterSet set = make_set();
  EXPECT_EQ(set.find("norm"), 1u);
  EXPECT_THROW(set.find("bias"), Error);
}

}  // namespace
}  // namespace tandem::training
