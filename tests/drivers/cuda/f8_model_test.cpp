// SPDX-License-Identifier: Apache-2.0
//
// Published models with FP8 matrices on a GPU, in few rows and in many: perplexity against float64
// on the same dequantised weights, and the CPU's choices where nothing is rounded.
#include "cpu/backend.h"
#include "cuda/backend.h"
#include "host/engine/executor/f8_model_rig.h"

namespace tandem::engine {
namespace {

using test::F8Layout;

class F8ModelOnGpu : public testing::TestWithParam<F8Layout> {
 protected:
  void SetUp() override {
    if (device::cuda_backend().enumerate({}).empty()) {
      const std::string why = device::cuda_backend().unavailable_reason();
      GTEST_SKIP() << (why.empty() ? "no GPU here" : why);
    }
    device_ = device::cuda_backend().open(0, {});
  }
  std::unique_ptr<device::Device> device_;
};

TEST_P(F8ModelOnGpu, HasThePerplexityOfTheReferenceOnTheSameWeights) {
  const test::F8HubModel made = f8_model(GetParam());
  const DirectoryModel model(made.f8, made.config);
  const double expected = reference_perplexity(model);
  for (const std::size_t chunk : {7, 40}) {
    const double got = perplexity_of(logits_on(*device_, model, {}, chunk));
    EXPECT_NEAR(got / expected, 1.0, 0.005) << got << " where " << expected << " is right";
  }
}

TEST_P(F8ModelOnGpu, ChoosesAsTheCpuDoesWhereNothingIsRounded) {
  const test::F8HubModel made = f8_model(GetParam());
  const DirectoryModel model(made.f8, made.config), twin(made.f32, made.f32_config);
  WeightOptions widened;
  widened.quantize = DType::kF32;
  const auto cpu = device::cpu_backend().open(0, {.num_threads = 2});
  EXPECT_EQ(choices(logits_on(*device_, model, widened, 40)),
            choices(logits_on(*cpu, twin, {}, 40)));
}

TEST_P(F8ModelOnGpu, MayRoundRowsToF8WhereItIsAskedTo) {
  const test::F8HubModel made = f8_model(GetParam());
  const DirectoryModel model(made.f8, made.config);
  device::DeviceOptions options;
  options.values.set("cuda-fp8-rows", "true");
  const auto rounding = device::cuda_backend().open(0, options);
  const auto plain = logits_on(*device_, model, {}, 40), got = logits_on(*rounding, model, {}, 40);
  EXPECT_NEAR(perplexity_of(got) / perplexity_of(plain), 1.0, 0.05);
  EXPECT_NE(got, plain);
  // In few rows it changes nothing.
  EXPECT_EQ(choices(logits_on(*rounding, model, {}, 7)),
            choices(logits_on(*device_, model, {}, 7)));
}

INSTANTIATE_TEST_SUITE_P(Layouts, F8ModelOnGpu,
                         testing::Values(F8Layout::kMatrix, F8Layout::kRow, F8Layout::kBlock));

}  // namespace
}  // namespace tandem::engine
