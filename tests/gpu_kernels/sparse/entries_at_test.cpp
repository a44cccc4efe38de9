// SPDX-License-Identifier: Apache-2.0
//
// Reading, clearing and adding at places, against plain loops.
#include "sparse/entries_at.h"

#include "gpu_kernels/device_array.h"
#include "gpu_kernels/sparse/gradient_values.h"
#include "gpu_kernels/sparse/random_entries.h"
#include "tensor/dtype.h"

namespace tandem::gpu_kernels {
namespace {

struct Case {
  std::vector<float> dense, values;
  std::vector<std::uint32_t> indices;
};

// Of every size: none, one, a third and all of the places.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::size_t size : kGradientSizes) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, size / 3, size}) {
      all.push_back({gradient_values(Values::kNonFinite, size, 1),
                     gradient_values(Values::kLaplace, count, 2), random_indices(count, size, 3)});
      std::reverse(all.back().indices.begin(), all.back().indices.end());
    }
  }
  return all;
}

std::vector<unsigned char> bytes(const std::vector<float>& values) {
  return bytes_of(values.data(), values.size());
}

TEST_P(KernelTest, GathersTheValuesAtPlacesInAnyOrder) {
  for (const Case& given : cases()) {
    DeviceArray<float> dense(given.dense), out(given.indices.size());
    DeviceArray<std::uint32_t> indices(given.indices), faults(std::vector<std::uint32_t>{0});
    ASSERT_EQ(
        gather_at({dense.data(), given.dense.size(), indices.data(),
                   static_cast<std::uint32_t>(given.indices.size()), out.data(), faults.data()},
                  nullptr),
        cudaSuccess);
    std::vector<float> expected;
    for (const std::uint32_t index : given.indices) expected.push_back(given.dense[index]);
    ASSERT_EQ(bytes(out.download()), bytes(expected));
    ASSERT_EQ(faults.download().front(), 0u);
  }
}

TEST_P(KernelTest, ClearsOneOrTwoArraysAtPlacesAndNowhereElse) {
  for (const Case& given : cases()) {
    for (const bool two : {false, true}) {
      DeviceArray<float> first(given.dense), second(given.dense);
      DeviceArray<std::uint32_t> indices(given.indices), faults(std::vector<std::uint32_t>{0});
      ASSERT_EQ(
          clear_at({first.data(), two ? second.data() : nullptr, given.dense.size(), indices.data(),
                    static_cast<std::uint32_t>(given.indices.size()), faults.data()},
                   nullptr),
          cudaSuccess);
      std::vector<float> expected = given.dense;
      for (const std::uint32_t index : given.indices) expected[index] = 0;
      ASSERT_EQ(bytes(first.download()), bytes(expected));
      ASSERT_EQ(bytes(second.download()), bytes(two ? expected : given.dense));
    }
  }
}

TEST_P(KernelTest, AddsOrStoresQuotientsAtPlaces) {
  for (const Case& given : cases()) {
    for (const bool replaces : {false, true}) {
      DeviceArray<float> dense(given.dense), values(given.values);
      DeviceArray<std::uint32_t> indices(given.indices), faults(std::vector<std::uint32_t>{0});
      ASSERT_EQ(
          add_at({dense.data(), ValueType::kF32, given.dense.size(), indices.data(), values.data(),
                  static_cast<std::uint32_t>(given.indices.size()), 3.0f, replaces, faults.data()},
                 nullptr),
          cudaSuccess);
      std::vector<float> expected = given.dense;
      for (std::size_t i = 0; i < given.indices.size(); ++i) {
        float& to = expected[given.indices[i]];
        const float value = given.values[i] / 3.0f;
        to = replaces ? value : to + value;
      }
      const auto got = dense.download();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(std::isnan(expected[i]) ? std::isnan(got[i]) : got[i] == expected[i]) << i;
      }
    }
  }
}

TEST_P(KernelTest, SumsAndQuotientsOfHalvesAreRoundedOnce) {
  const std::vector<float> values = gradient_values(Values::kLaplace, 700, 5);
  for (const bool f16 : {false, true}) {
    for (const bool replaces : {false, true}) {
      const auto half = [&](float value) { return f16 ? f32_to_f16(value) : f32_to_bf16(value); };
      const auto wide = [&](std::uint16_t bits) {
        return f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
      };
      std::vector<std::uint16_t> expected(1000, half(0.25f));
      DeviceArray<std::uint16_t> dense(expected);
      DeviceArray<float> added(values);
      const auto places = random_indices(700, 1000, 6);
      DeviceArray<std::uint32_t> indices(places), faults(std::vector<std::uint32_t>{0});
      ASSERT_EQ(add_at({dense.data(), f16 ? ValueType::kF16 : ValueType::kBF16, 1000,
                        indices.data(), added.data(), 700, 1.0f, replaces, faults.data()},
                       nullptr),
                cudaSuccess);
      for (std::size_t i = 0; i < places.size(); ++i) {
        std::uint16_t& to = expected[places[i]];
        to = half(replaces ? values[i] : wide(to) + values[i]);
      }
      EXPECT_EQ(dense.download(), expected);
    }
  }
  AddAt job;
  job.type = ValueType::kF64;
  EXPECT_EQ(add_at(job, nullptr), cudaErrorInvalidValue);
}

TEST_P(KernelTest, AWrongPlaceIsAFaultAndTouchesNothing) {
  const std::vector<float> given(1000, 5.0f);
  const std::vector<std::uint32_t> places = {3, 1000, 999, 0xffffffffu};
  DeviceArray<float> dense(given), second(given), values(std::vector<float>(4, 1.0f)), out(4);
  DeviceArray<std::uint32_t> indices(places), faults(std::vector<std::uint32_t>{0, 0, 0});
  ASSERT_EQ(gather_at({dense.data(), 1000, indices.data(), 4, out.data(), faults.data()}, nullptr),
            cudaSuccess);
  ASSERT_EQ(add_at({dense.data(), ValueType::kF32, 1000, indices.data(), values.data(), 4, 1.0f,
                    false, faults.data() + 1},
                   nullptr),
            cudaSuccess);
  ASSERT_EQ(clear_at({second.data(), nullptr, 1000, indices.data(), 4, faults.data() + 2}, nullptr),
            cudaSuccess);
  EXPECT_EQ(out.download(), (std::vector<float>{5, 0, 5, 0}));
  EXPECT_EQ(faults.download(), (std::vector<std::uint32_t>{1, 1, 1}));
  std::vector<float> added = given, cleared = given;
  added[3] = added[999] = 6;
  cleared[3] = cleared[999] = 0;
  EXPECT_EQ(dense.download(), added);
  EXPECT_EQ(second.download(), cleared);
}

TEST_P(KernelTest, RefusesMoreEntriesThanAGridHasPlacesFor) {
  GatherAt job;
  job.num_entries = 0xffffffffu - 2047;
  EXPECT_EQ(gather_at(job, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
