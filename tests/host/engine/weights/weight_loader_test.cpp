// SPDX-License-Identifier: Apache-2.0
//
// Which weights are quantised on load, and to which type. weight_type_test checks that the engine
// computes with them.
#include "engine/weights/weight_loader.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

#include "common/error.h"
#include "cpu/backend.h"
#include "device/device.h"
#include "engine/weights/layer_weights.h"
#include "support/gguf_writer.h"
#include "support/mapped_pages.h"
#include "support/scratch_path.h"

namespace tandem::engine {
namespace {

class WeightLoading : public testing::Test {
 protected:
  // Rows of 256 everywhere but those of `down`: 320 do not divide into blocks of 256.
  static inline const test::RandomLlama kShape{.num_layers = 1,
                                               .width = 256,
                                               .q_heads = 8,
                                               .kv_heads = 4,
                                               .head_dim = 32,
                                               .ffn_width = 320,
                                               .vocab_size = 320};

  std::unique_ptr<model::Model> model(bool tied, DType dtype = DType::kF16) {
    const test::ScratchPath file("loaded.gguf");  // stays mapped
    test::RandomLlama shape = kShape;
    shape.tied = tied;
    test::write_random_llama(file.path(), shape, dtype, 3);
    return model::load_model(file.path());
  }

  static std::size_t bytes(DType dtype, std::size_t rows, std::size_t columns) {
    return rows * dtype_row_bytes(dtype, columns);
  }

  std::unique_ptr<device::Device> device_ = device::cpu_backend().open(0, {.num_threads = 2});
  std::unique_ptr<device::ComputeUnit> compute_ = device_->make_compute_unit();
};

TEST_F(WeightLoading, KeepsEveryTensorWhenNothingIsAsked) {
  const auto model = this->model(true);
  const ModelWeights weights(*model, *compute_);
  EXPECT_EQ(weights.loaded().quantised, 0);
  EXPECT_EQ(weights.loaded().bytes, model->config().weight_bytes);
  EXPECT_EQ(weights.loaded().main_type(), DType::kF16);
}

TEST_F(WeightLoading, QuantisesMatricesAndFallsBackWhereRowsDoNotFit) {
  const auto model = this->model(true);
  const ModelWeights weights(*model, *compute_, {.quantize = DType::kQ4_K});
  const LayerWeights& layer = weights.layers().front();
  for (const device::Weight* weight :
       {layer.wq, layer.wk, layer.wv, layer.wo, layer.gate, layer.up}) {
    EXPECT_EQ(weight->size_bytes(),
              bytes(DType::kQ4_K, static_cast<std::size_t>(weight->out_features()), 256));
  }
  EXPECT_EQ(layer.down->size_bytes(), bytes(DType::kQ4_1, 256, 320));
  EXPECT_EQ(layer.attention_norm->size_bytes(), bytes(DType::kF32, 1, 256));
  EXPECT_EQ(weights.embedding(), weights.output());
  EXPECT_EQ(weights.output()->size_bytes(), bytes(DType::kQ4_K, 320, 256));

  const LoadedWeights& loaded = weights.loaded();
  EXPECT_EQ(loaded.quantised, 8);
  EXPECT_EQ(loaded.main_type(), DType::kQ4_K);
  EXPECT_EQ(loaded.values.at(DType::kQ4_1), 256u * 320u);
  EXPECT_EQ(loaded.values.at(DType::kF32), 3u * 256u);
  EXPECT_EQ(loaded.values.count(DType::kF16), 0u);
  EXPECT_EQ(loaded.bytes, loaded.quantised_to_bytes + 3u * 256u * 4u);
  EXPECT_EQ(loaded.quantised_from_bytes + 3u * 256u * 4u, model->config().weight_bytes);
}

TEST_F(WeightLoading, LeavesATableThatIsNotTheOutputProjection) {
  const auto model = this->model(false);
  const ModelWeights weights(*model, *compute_, {.quantize = DType::kQ8_0});
  EXPECT_EQ(weights.embedding()->size_bytes(), bytes(DType::kF16, 320, 256));
  EXPECT_EQ(weights.output()->size_bytes(), bytes(DType::kQ8_0, 320, 256));
}

TEST_F(WeightLoading, LeavesMatricesThatAreNoLarger) {
  const auto model = this->model(true, DType::kQ4_0);
  const ModelWeights weights(*model, *compute_, {.quantize = DType::kQ8_0});
  EXPECT_EQ(weights.loaded().quantised, 0);
  EXPECT_EQ(weights.loaded().main_type(), DType::kQ4_0);
}

TEST_F(WeightLoading, WidensQuantisedMatricesToWhatTheyMean) {
  const auto model = this->model(true, DType::kQ4_0);
  const ModelWeights weights(*model, *compute_, {.quantize = DType::kF32});
  EXPECT_EQ(weights.layers().front().wq->size_bytes(), bytes(DType::kF32, 256, 256));
  EXPECT_EQ(weights.loaded().main_type(), DType::kF32);
  const TensorView& table = model->embedding();  // tied, so widened too
  std::vector<float> want(256);
  const std::size_t row_bytes = bytes(table.dtype, 1, 256);
  dequantize_row(table.dtype, table.data + 7 * row_bytes, want.data(), want.size());
  const auto out = compute_->allocate(256 * sizeof(float), device::MemoryKind::kHost);
  const std::int32_t id = 7;
  compute_->enqueue(device::EmbedOp{weights.embedding(), {&id, 1}, {out.get(), 0}});
  const auto got = device::host_floats({out.get(), 0}, 256);
  EXPECT_TRUE(std::ranges::equal(got, want));
}

TEST_F(WeightLoading, GivesBackTheFilePagesOfWhatIsPackedOrQuantised) {
  const test::ScratchPath file("loaded.gguf");
  const test::RandomLlama shape{.num_layers = 1, .width = 512, .ffn_width = 2048, .tied = false};
  const auto present = [](const TensorView& tensor) {
    const auto pages = test::mapped_pages({tensor.data, tensor.size_bytes()});
    return pages ? static_cast<double>(pages->present) / static_cast<double>(pages->all) : -1.0;
  };
  const auto nothing = [](double) {};
  for (const DType dtype : {DType::kQ8_0, DType::kBF16, DType::kF16}) {
    test::write_random_llama(file.path(), shape, dtype, 3);
    const auto model = model::load_model(file.path(), nothing);  // reads everything
    const model::LayerTensors& layer = model->layers().front();
    if (present(layer.gate) < 0) GTEST_SKIP() << "/proc/self/pagemap cannot be read";
    EXPECT_EQ(present(layer.gate), 1.0);
    const ModelWeights weights(*model, *compute_);
    const bool packs = dtype != DType::kF16;
    EXPECT_EQ(weights.layers().front().gate->borrows_source(), !packs);
    EXPECT_TRUE(weights.embedding()->borrows_source());
    for (const TensorView* tensor : {&layer.gate, &layer.up, &layer.down}) {
      EXPECT_EQ(present(*tensor) < 0.5, packs);  // neighbours' reading maps a few pages again
    }
    EXPECT_EQ(present(model->embedding()), 1.0);
    const ModelWeights quantised(*model, *compute_, {.quantize = DType::kQ4_0});
    for (const TensorView* tensor : {&layer.gate, &layer.up, &layer.down}) {
      EXPECT_LT(present(*tensor), 0.5);
    }
  }
}

TEST_F(WeightLoading, LoadsNormsAsVectorsAndNothingElse) {
  const auto model = this->model(true);
  const ModelWeights weights(*model, *compute_);
  const LayerWeights& layer = weights.layers().front();
  const auto out = compute_->allocate(sizeof(float), device::MemoryKind::kHost);
  const auto x = compute_->allocate(256 * sizeof(float), device::MemoryKind::kHost);
  for (const device::Weight* norm : {layer.attention_norm, layer.ffn_norm, weights.output_norm()}) {
    EXPECT_FALSE(norm->borrows_source());
    const device::LinearTarget target{norm, nullptr, {out.get(), 0}};
    EXPECT_THROW(compute_->enqueue(device::LinearOp{1, {x.get(), 0}, {&target, 1}}), Error);
  }
}

TEST_F(WeightLoading, RefusesTypesWithoutAQuantiser) {
  EXPECT_THROW(WeightLoader(*compute_, {.quantize = DType::kF16}), Error);
  EXPECT_THROW(WeightLoader(*compute_, {.quantize = DType::kI8}), Error);
}

}  // namespace
}  // namespace tandem::engine
