// SPDX-License-Identifier: Apache-2.0
//
// Runs every case of a fixture once per instruction set that this processor has.
//
// Use: class X : public OnEveryTarget {}; TEST_P(X, ...); INSTANTIATE_ON_EVERY_TARGET(X);
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "cpu/backend.h"
#include "cpu/vector_targets.h"

namespace tandem::device {

class OnEveryTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { cpu::force_vector_target(GetParam()); }
  void TearDown() override { cpu::force_vector_target(""); }

  std::vector<float> randoms(std::size_t count, float size = 1.0f) {
    std::normal_distribution<float> normal(0.0f, size);
    std::vector<float> values(count);
    for (float& value : values) value = normal(random_);
    return values;
  }

  std::mt19937 random_{7};
  std::unique_ptr<Device> device_ = cpu_backend().open(0, {.num_threads = 3});
};

#define INSTANTIATE_ON_EVERY_TARGET(fixture)                                           \
  INSTANTIATE_TEST_SUITE_P(Cpu, fixture,                                               \
                           testing::ValuesIn(::tandem::device::cpu::vector_targets()), \
                           [](const auto& target) { return target.param; })

}  // namespace tandem::device
