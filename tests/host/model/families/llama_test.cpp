// SPDX-License-Identifier: Apache-2.0
//
// The Llama family: configuration and tensors taken from files, and files refused.
#include <gmock/gmock.h>

#include <cstring>

#include "model/families/family.h"
#include "support/gguf_writer.h"
#include "support/scratch_path.h"

namespace tandem::model {
namespace {

using test::GgufWriter;
using test::RandomLlama;
using testing::HasSubstr;

const RandomLlama kSmall{
    .num_layers = 2, .width = 64, .q_heads = 4, .kv_heads = 2, .head_dim = 32, .ffn_width = 96};

class TemporaryModel {
 public:
  explicit TemporaryModel(const GgufWriter& writer) { writer.save(file_.string()); }
  std::string path() const { return file_.string(); }

 private:
  test::ScratchPath file_{"llama.gguf"};
};

std::string llama_error(const GgufWriter& writer) {
  const TemporaryModel file(writer);
  try {
    load_model(file.path());
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(LlamaFamily, TakesEveryTensorInEveryElementType) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0}) {
    RandomLlama shape = kSmall;
    shape.tied = false;
    const TemporaryModel file(test::random_llama(shape, dtype, 1));
    const auto model = load_model(file.path());
    const ModelConfig& config = model->config();
    EXPECT_EQ(config.quantization, dtype_name(dtype));
    EXPECT_EQ(config.head_dim, 32);
    EXPECT_EQ(config.q_heads, 4);
    EXPECT_EQ(config.rope.inverse_frequencies.size(), 16u);
    ASSERT_EQ(model->layers().size(), 2u);
    const LayerTensors& layer = model->layers()[1];
    EXPECT_EQ(layer.wq.name, "blk.1.attn_q.weight");
    EXPECT_EQ(layer.wq.rows, 128);
    EXPECT_EQ(layer.wk.rows, 64);
    EXPECT_EQ(layer.wo.columns, 128);
    EXPECT_EQ(layer.down.columns, 96);
    EXPECT_EQ(layer.gate.dtype, dtype);
    EXPECT_FALSE(layer.bq);
    EXPECT_NE(model->output().data, model->embedding().data);
    // Two embeddings, a norm, and per layer 2 norms, q, k, v, o and three of the feed-forward.
    EXPECT_EQ(config.parameters,
              2u * 384 * 64 + 64 + 2 * (2 * 64 + 64 * (128 + 64 + 64 + 128) + 3 * 64 * 96));
  }
}

TEST(LlamaFamily, RandomWeightsHaveTheVarianceOfTheirWidth) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kQ8_0, DType::kQ4_0}) {
    const TemporaryModel file(test::random_llama(kSmall, dtype, 7));
    const auto model = load_model(file.path());
    const TensorView& view = model->layers()[0].down;  // [64, 96]
    std::vector<float> row(96);
    double squares = 0;
    for (std::int64_t r = 0; r < view.rows; ++r) {
      dequantize_row(view.dtype,
                     view.data + static_cast<std::size_t>(r) * dtype_row_bytes(view.dtype, 96),
                     row.data(), row.size());
      for (const float value : row) squares += value * value;
    }
    EXPECT_NEAR(squares / (64 * 96) * 96, 1.0, 0.1) << dtype_name(dtype);
  }
}

TEST(LlamaFamily, TakesBiasesAndRopeFactors) {
  GgufWriter writer = test::random_llama(kSmall, DType::kF16, 2);
  writer.add_tensor("blk.0.attn_q.bias", {128}, std::vector<float>(128, 0.5f));
  writer.add_tensor("blk.0.attn_output.bias", {64}, std::vector<float>(64, 0.5f));
  writer.add_tensor("rope_freqs.weight", {16}, std::vector<float>(16, 2.0f));
  const TemporaryModel file(writer);
  const auto model = load_model(file.path());
  EXPECT_EQ(model->layers()[0].bq.columns, 128);
  EXPECT_TRUE(model->layers()[0].bo);
  EXPECT_FALSE(model->layers()[1].bq);
  EXPECT_FLOAT_EQ(model->config().rope.inverse_frequencies[0], 0.5f);
}

TEST(LlamaFamily, ReadsRopeScaling) {
  GgufWriter linear = test::random_llama(kSmall, DType::kF16, 2);
  linear.set_string("llama.rope.scaling.type", "linear");
  linear.set_f32("llama.rope.scaling.factor", 4.0f);
  const TemporaryModel linear_file(linear);
  EXPECT_FLOAT_EQ(load_model(linear_file.path())->config().rope.inverse_frequencies[0], 0.25f);
  GgufWriter yarn = test::random_llama(kSmall, DType::kF16, 2);
  yarn.set_string("llama.rope.scaling.type", "yarn");
  yarn.set_f32("llama.rope.scaling.factor", 8.0f);
  yarn.set_u32("llama.rope.scaling.original_context_length", 64);
  const TemporaryModel yarn_file(yarn);
  EXPECT_FLOAT_EQ(load_model(yarn_file.path())->config().rope.magnitude,
                  static_cast<float>(1 + 0.1 * std::log(8.0)));
  GgufWriter unknown = test::random_llama(kSmall, DType::kF16, 2);
  unknown.set_string("llama.rope.scaling.type", "longrope");
  EXPECT_THAT(llama_error(unknown), HasSubstr("supported: none, linear, yarn"));
}

TEST(LlamaFamily, GivesEveryLayerTheSlidingWindow) {
  GgufWriter writer = test::random_llama(kSmall, DType::kF16, 2);
  writer.set_u32("llama.attention.sliding_window", 100);
  const TemporaryModel file(writer);
  const auto model = load_model(file.path());
  EXPECT_EQ(model->config().context_length, 512);
  EXPECT_THAT(model->config().windows, testing::ElementsAre(100, 100));
  EXPECT_TRUE(model->config().local_rope.inverse_frequencies.empty());
}

TEST(LlamaFamily, RefusesWhatItCannotRun) {
  GgufWriter experts = test::random_llama(kSmall, DType::kF16, 2);
  experts.set_u32("llama.expert_count", 8);
  EXPECT_THAT(llama_error(experts), HasSubstr("field 'llama.expert_used_count'"));

  GgufWriter other;
  other.set_string("general.architecture", "mamba");
  test::set_test_vocabulary(other, 320);
  EXPECT_THAT(llama_error(other),
              HasSubstr("architecture 'mamba' is not supported; supported: llama, mistral, "));

  GgufWriter extra = test::random_llama(kSmall, DType::kF16, 2);
  extra.add_tensor("blk.0.ffn_gate.bias", {96}, std::vector<float>(96, 1.0f));
  EXPECT_THAT(llama_error(extra), HasSubstr("field 'blk.0.ffn_gate.bias' at offset "));

  GgufWriter part = test::random_llama(kSmall, DType::kF16, 2);
  part.set_raw("split.count", 2, std::string("\3\0", 2));
  EXPECT_THAT(llama_error(part), HasSubstr("split over 3 files"));

  RandomLlama odd = kSmall;
  odd.kv_heads = 3;
  EXPECT_THAT(llama_error(test::random_llama(odd, DType::kF16, 2)),
              HasSubstr("not a multiple of 3"));
}

TEST(LlamaFamily, RefusesTensorsThatDoNotFitTheConfiguration) {
  const auto with = [](const char* name, std::vector<std::uint64_t> dims) {
    GgufWriter writer;
    writer.set_string("general.architecture", "llama");
    for (const char* key : {"block_count", "embedding_length", "feed_forward_length",
                            "context_length", "attention.head_count"}) {
      writer.set_u32(std::string("llama.") + key, 2);
    }
    writer.set_u32("llama.attention.key_length", 2);
    writer.set_u32("llama.attention.value_length", 2);
    test::set_test_vocabulary(writer, 320);
    writer.add_tensor(name, dims, std::vector<float>(4096));
    return writer;
  };
  EXPECT_THAT(llama_error(with("other", {2})),
              HasSubstr("the tensor 'blk.0.attn_norm.weight' is missing"));
  EXPECT_THAT(llama_error(with("blk.0.attn_norm.weight", {2, 3})),
              HasSubstr("has shape [3, 2], the configuration needs [1, 2]"));
  EXPECT_THAT(llama_error(with("blk.0.attn_norm.weight", {2, 1, 2})),
              HasSubstr("more than two dimensions"));
}

TEST(LlamaFamily, RefusesNumbersOutOfRange) {
  for (const char* key : {"block_count", "embedding_length", "attention.head_count"}) {
    for (const std::uint32_t value : {0u, 0xffffffffu}) {
      GgufWriter writer;
      writer.set_string("general.architecture", "llama");
      for (const char* other : {"block_count", "embedding_length", "feed_forward_length",
                                "context_length", "attention.head_count"}) {
        writer.set_u32(std::string("llama.") + other, std::strcmp(key, other) == 0 ? value : 64);
      }
      test::set_test_vocabulary(writer, 320);
      EXPECT_THAT(llama_error(writer),
                  HasSubstr(std::string("field 'llama.") + key + "' at offset "));
    }
  }
}

TEST(LlamaFamily, KeepsAModelWhoseChatTemplateCannotBeUsed) {
  RandomLlama shape = kSmall;
  shape.chat_template = "{{ bos_token }}\n{% nosuch %}";
  const TemporaryModel file(test::random_llama(shape, DType::kF16, 2));
  const auto model = load_model(file.path());
  EXPECT_EQ(model->chat_template(), nullptr);
  EXPECT_THAT(model->chat_template_error(),
              HasSubstr("template line 2, column 4: this statement is not supported"));
  shape.chat_template = "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}";
  const TemporaryModel good(test::random_llama(shape, DType::kF16, 2));
  const auto loaded = load_model(good.path());
  ASSERT_NE(loaded->chat_template(), nullptr);
  const ChatMessage message{"user", "hi"};
  EXPECT_EQ(loaded->chat_template()->render({&message, 1}, {.add_generation_prompt = false}),
            "<s>hi</s>");
}

}  // namespace
}  // namespace tandem::model
