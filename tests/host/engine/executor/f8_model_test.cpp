// SPDX-License-Identifier: Apache-2.0
//
// Published models with FP8 matrices on the CPU: perplexity against float64 on the same dequantised
// weights, choices against the twin whose weights are those values in F32, and matrices made e4m3
// on load.
#include "cpu/backend.h"
#include "engine/weights/layer_weights.h"
#include "host/engine/executor/f8_model_rig.h"

namespace tandem::engine {
namespace {

using test::F8Layout;

class F8Model : public testing::TestWithParam<F8Layout> {
 protected:
  std::unique_ptr<device::Device> device_ =
      device::cpu_backend().open(0, {.num_threads = 2, .kernel_image = {}});
};

TEST_P(F8Model, HasThePerplexityOfTheReferenceOnTheSameWeights) {
  const test::F8HubModel made = f8_model(GetParam());
  const DirectoryModel model(made.f8, made.config);
  const double expected = reference_perplexity(model);
  EXPECT_NEAR(reference_perplexity(DirectoryModel(made.f32, made.f32_config)) / expected, 1, 1e-9);
  for (const std::size_t chunk : {1, 7, 40}) {
    const double got = perplexity_of(logits_on(*device_, model, {}, chunk));
    EXPECT_NEAR(got / expected, 1.0, 0.005) << got << " where " << expected << " is right";
  }
}

TEST_P(F8Model, ChoosesAsItsTwinInF32WhereNothingIsRounded) {
  const test::F8HubModel made = f8_model(GetParam());
  const DirectoryModel model(made.f8, made.config), twin(made.f32, made.f32_config);
  WeightOptions widened;
  widened.quantize = DType::kF32;
  EXPECT_EQ(choices(logits_on(*device_, model, widened, 40)),
            choices(logits_on(*device_, twin, {}, 40)));
}

TEST_P(F8Model, LoadsItsMatricesAsTheyAre) {
  const test::F8HubModel made = f8_model(GetParam());
  const DirectoryModel model(made.f8, made.config);
  const auto compute = device_->make_compute_unit();
  const ModelWeights weights(model, *compute);
  EXPECT_EQ(weights.loaded().main_type(), DType::kF8E4M3);
  EXPECT_EQ(weights.loaded().quantised, 0);
  EXPECT_FALSE(weights.layers()[0].wq->borrows_source());
  EXPECT_EQ(weights.layers()[0].wq->size_bytes(), std::size_t{128} * 128);
}

INSTANTIATE_TEST_SUITE_P(Layouts, F8Model,
                         testing::Values(F8Layout::kMatrix, F8Layout::kRow, F8Layout::kFbgemm,
                                         F8Layout::kBlock));

TEST(F8OnLoad, GivesMatricesAScalePerOutput) {
  const auto device = device::cpu_backend().open(0, {.num_threads = 2, .kernel_image = {}});
  const test::F8HubModel made = f8_model(F8Layout::kRow);
  const DirectoryModel twin(made.f32, made.f32_config);
  WeightOptions quantised;
  quantised.quantize = DType::kF8E4M3;
  const auto compute = device->make_compute_unit();
  const ModelWeights weights(twin, *compute, quantised);
  EXPECT_EQ(weights.loaded().quantised, static_cast<int>(made.num_f8_matrices) + 1);  // the output
  EXPECT_EQ(weights.loaded().main_type(), DType::kF8E4M3);
  const double expected = reference_perplexity(twin);
  const double got = perplexity_of(logits_on(*device, twin, quantised, 40));
  EXPECT_NEAR(got / expected, 1.0, 0.03) << got << " where " << expected << " is right";
}

TEST(F8OnLoad, RefusesMatricesThatHoldANaN) {
  const auto device = device::cpu_backend().open(0, {.num_threads = 2, .kernel_image = {}});
  std::vector<std::byte> codes(32 * 16, std::byte{0x38});
  codes[3 * 16 + 5] = std::byte{0xff};
  const TensorView tensor{"blk.0.ffn_up.weight", DType::kF8E4M3, 32, 16, codes.data(), {}};
  for (const auto& type : {std::optional<DType>(), {DType::kF32}, {DType::kQ8_0}}) {
    const auto compute = device->make_compute_unit();
    WeightOptions options;
    options.quantize = type;
    options.num_threads = 2;
    WeightLoader loader(*compute, options);
    try {
      loader.load_matrix(tensor, device::WeightRole::kProduct);
      FAIL() << "a NaN was loaded";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("'blk.0.ffn_up.weight', row 3, column 5"));
    }
    EXPECT_THROW(loader.load(tensor, device::WeightRole::kProduct), Error);
  }
}

}  // namespace
}  // namespace tandem::engine
