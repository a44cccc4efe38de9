// SPDX-License-Identifier: Apache-2.0
//
// The limit arithmetic of `tandem bench` on a model small enough to count by hand.
#include "apps/models/bench/roofline.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace tandem::apps::bench {
namespace {

const std::byte kData[2] = {};

TensorView matrix(DType dtype, std::int64_t rows, std::int64_t columns, int at = 0) {
  TensorView view;
  view.dtype = dtype;
  view.rows = rows;
  view.columns = columns;
  view.data = kData + at;
  return view;
}

// Two layers; wq is Q8_0 [64, 32], the output is BF16 [100, 32].
class CountedModel : public model::Model {
 public:
  CountedModel() {
    config_.num_layers = 2;
    layers_.resize(2);
    for (model::LayerTensors& layer : layers_) {
      layer.attention_norm = matrix(DType::kF32, 1, 32);
      layer.wq = matrix(DType::kQ8_0, 64, 32);
    }
    embedding_ = matrix(DType::kBF16, 100, 32, 1);
    norm_ = matrix(DType::kF32, 1, 32);
    output_ = matrix(DType::kBF16, 100, 32);
  }
  const model::ModelConfig& config() const override { return config_; }
  const std::vector<model::LayerTensors>& layers() const override { return layers_; }
  const TensorView& embedding() const override { return embedding_; }
  const TensorView& output_norm() const override { return norm_; }
  const TensorView& output() const override { return output_; }
  const model::Tokenizer& tokenizer() const override { throw std::logic_error("unused"); }
  const model::ChatTemplate* chat_template() const override { return nullptr; }
  const std::string& chat_template_error() const override { return config_.name; }

  model::ModelConfig config_;
  std::vector<model::LayerTensors> layers_;
  TensorView embedding_, norm_, output_;
};

constexpr double kLayerBytes = 32 * 4 + 64 * 34, kOutputBytes = 100 * 64 + 32 * 4;

TEST(BenchRoofline, MatricesCountInTheTypeThatTheyWereLoadedIn) {
  const CountedModel model;
  const Work work = work_of(parse_decode("1@16"), model, 10, DType::kQ4_0);
  EXPECT_DOUBLE_EQ(work.weight_bytes, 2 * (32 * 4 + 64 * 18) + 100 * 18 + 32 * 4);
  EXPECT_DOUBLE_EQ(work.ops.bf16, 0);
  // Rows of 32 do not divide into blocks of 256, and q8_0 would not make wq smaller.
  const Work larger = work_of(parse_decode("1@16"), model, 10, DType::kQ6_K);
  EXPECT_DOUBLE_EQ(larger.weight_bytes, 2 * kLayerBytes + 100 * 34 + 32 * 4);
}

TEST(BenchRoofline, AStepReadsEveryWeightOnceAndNoEmbedding) {
  const CountedModel model;
  for (const char* word : {"1@16", "8@16"}) {
    const Work work = work_of(parse_decode(word), model, 10);
    EXPECT_DOUBLE_EQ(work.weight_bytes, 2 * kLayerBytes + kOutputBytes) << word;
  }
}

TEST(BenchRoofline, OperationsGrowWithTheRowsAndStandByTheirType) {
  const CountedModel model;
  const Work work = work_of(parse_decode("8@16"), model, 10);
  EXPECT_DOUBLE_EQ(work.ops.int8, 2.0 * 2 * 64 * 32 * 8);
  EXPECT_DOUBLE_EQ(work.ops.bf16, 2.0 * 100 * 32 * 8);
  EXPECT_DOUBLE_EQ(work.ops.f32, 0);
}

TEST(BenchRoofline, APromptMeetsTheOutputProjectionOnce) {
  const CountedModel model;
  const Work work = work_of(prefill_row(512), model, 10);
  EXPECT_DOUBLE_EQ(work.ops.int8, 2.0 * 2 * 64 * 32 * 512);
  EXPECT_DOUBLE_EQ(work.ops.bf16, 2.0 * 100 * 32);
  EXPECT_DOUBLE_EQ(work.kv_bytes, 0);
}

TEST(BenchRoofline, KeysAndValuesAreReadForEverySequenceAsFarAsItsLayersSee) {
  CountedModel model;
  EXPECT_DOUBLE_EQ(work_of(parse_decode("8@100"), model, 10).kv_bytes, 8 * 100 * 10);
  model.config_.windows = {0, 30};
  EXPECT_DOUBLE_EQ(work_of(parse_decode("8@100"), model, 10).kv_bytes, 8 * (100 + 30) * 5);
  EXPECT_DOUBLE_EQ(work_of(parse_decode("8@20"), model, 10).kv_bytes, 8 * 20 * 10);
}

TEST(BenchRoofline, OnlyExpertsThatAreTouchedAreRead) {
  EXPECT_DOUBLE_EQ(experts_touched(8, 2, 1), 2);
  EXPECT_DOUBLE_EQ(experts_touched(8, 2, 2), 3.5);
  EXPECT_NEAR(experts_touched(8, 2, 1000), 8, 1e-9);
  CountedModel model;
  model.config_.experts = {4, 1, 32, false};
  for (model::LayerTensors& layer : model.layers_) {
    layer.experts.assign(4, {matrix(DType::kQ8_0, 32, 32), {}, {}});
  }
  const Work without = work_of(parse_decode("1@16"), CountedModel(), 10);
  const Work work = work_of(parse_decode("1@16"), model, 10);
  EXPECT_DOUBLE_EQ(work.weight_bytes - without.weight_bytes, 2 * 32 * 34);
  EXPECT_DOUBLE_EQ(work.ops.int8 - without.ops.int8, 2 * 2.0 * 32 * 32);
}

TEST(BenchRoofline, TheSlowerOfMemoryAndArithmeticIsTheLimit) {
  Work work;
  work.weight_bytes = 100;
  work.kv_bytes = 50;
  work.ops.int8 = 1000;
  const Speeds speeds = {100, 25, {1, 1, 1000}};
  EXPECT_DOUBLE_EQ(limit_of(work, speeds).seconds, 3);
  EXPECT_TRUE(limit_of(work, speeds).by_memory);
  work.ops.int8 = 5000;
  EXPECT_DOUBLE_EQ(limit_of(work, speeds).seconds, 5);
  EXPECT_FALSE(limit_of(work, speeds).by_memory);
  work.ops.bf16 = 2;
  EXPECT_DOUBLE_EQ(limit_of(work, speeds).seconds, 7);
}

TEST(BenchRoofline, AnUnknownBandwidthLeavesTheLimitUnknown) {
  Work work;
  work.weight_bytes = 100;
  EXPECT_EQ(limit_of(work, {0, 1, {1, 1, 1}}).seconds, 0);
  EXPECT_EQ(limit_of(work, {1, 0, {1, 1, 1}}).seconds, 100);  // reads no keys and values
  work.kv_bytes = 1;
  EXPECT_EQ(limit_of(work, {1, 0, {1, 1, 1}}).seconds, 0);
}

}  // namespace
}  // namespace tandem::apps::bench
