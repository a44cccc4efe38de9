// SPDX-License-Identifier: Apache-2.0
//
// Decoders from configurations and files, and back to files.
#include "training/trainer/decoder_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "common/error.h"
#include "support/gguf_writer.h"
#include "support/safetensors_writer.h"
#include "support/scratch_path.h"
#include "training/trainer/decoder_config.h"
#include "training/trainer/decoder_export.h"

namespace tandem::training {
namespace {

using testing::HasSubstr;

class DecoderModelTest : public testing::Test {
 protected:
  DecoderModelTest() { std::filesystem::create_directories(folder_.path()); }
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_.string() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  static std::string refusal(const std::string& path) {
    try {
      read_decoder_config(path);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  test::ScratchPath folder_{"decoder"};
  const std::string good_ =
      "name = \"small\"\nlayers = 2\nwidth = 32\nheads = 4\nkv_heads = 2\nffn = 48\ncontext = 64\n"
      "rope_base = 5e5\n";
};

TEST_F(DecoderModelTest, IsMadeFromToml) {
  const DecoderModel model = make_decoder(
      write("model.toml", good_ + "tied = false\nlicense = \"cdla\"\ndescription = \"tells\"\n"),
      "");
  EXPECT_THAT(model.skeleton, HasSubstr("cdla"));
  EXPECT_THAT(model.skeleton, HasSubstr("tells"));
  EXPECT_EQ(model.config.name, "small");
  EXPECT_EQ(model.config.head_dim, 8);
  EXPECT_EQ(model.config.kv_heads, 2);
  EXPECT_EQ(model.config.vocab_size, 260);
  EXPECT_EQ(model.config.context_length, 64);
  EXPECT_NEAR(model.config.rope.inverse_frequencies.at(1), 1 / std::pow(5e5, 0.25), 1e-6);
  EXPECT_FALSE(model.tied);
  const auto parameters = decoder_parameters(model);
  ASSERT_EQ(parameters.size(), 3 + 2 * 9u);
  EXPECT_EQ(parameters.back().name, "output.weight");
  EXPECT_EQ(parameters[3].name, "blk.0.attn_k.weight");
  EXPECT_EQ(parameters[3].shape, (std::vector<std::int64_t>{16, 32}));
}

TEST_F(DecoderModelTest, ExpertsStandInPlaceOfTheFeedForward) {
  const std::string experts = good_ + "experts = 5\nexperts_used = 3\n";
  const DecoderModel model = make_decoder(write("model.toml", experts), "");
  EXPECT_EQ(model.config.experts.count, 5);
  EXPECT_EQ(model.config.experts.used, 3);
  EXPECT_TRUE(model.config.experts.normalise);
  const DecoderSizes sizes = decoder_sizes(model, 64);
  EXPECT_EQ(sizes.experts, 5);
  EXPECT_EQ(sizes.experts_used, 3);
  const auto parameters = decoder_parameters(model);
  ASSERT_EQ(parameters.size(), 2 + 2 * 10u);
  EXPECT_EQ(parameters[7].name, "blk.0.ffn_gate_inp.weight");
  EXPECT_EQ(parameters[7].shape, (std::vector<std::int64_t>{5, 32}));
  EXPECT_EQ(parameters[8].name, "blk.0.ffn_gate_exps.weight");
  EXPECT_EQ(parameters[8].shape, (std::vector<std::int64_t>{5, 48, 32}));
  EXPECT_EQ(parameters[10].name, "blk.0.ffn_down_exps.weight");
  EXPECT_EQ(parameters[10].shape, (std::vector<std::int64_t>{5, 32, 48}));
  const DecoderModel two = make_decoder(write("two.toml", good_ + "experts = 4\n"), "");
  EXPECT_EQ(two.config.experts.used, 2);
  EXPECT_EQ(decoder_sizes(make_decoder(write("dense.toml", good_), ""), 64).experts, 0);
}

TEST_F(DecoderModelTest, WindowsDoNotExceedItsContext) {
  const DecoderModel model = make_decoder(write("model.toml", good_), "");
  EXPECT_NO_THROW(check_context(model, 64));
  EXPECT_THAT(
      [&] { check_context(model, 65); },
      testing::ThrowsMessage<Error>(HasSubstr("--context 65 exceeds the model's 64; give")));
}

TEST_F(DecoderModelTest, IsMadeFromAPublishedConfiguration) {
  const std::string json = R"({"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 1,
    "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 99,
    "rms_norm_eps": 1e-4, "tie_word_embeddings": true, "architectures": ["LlamaForCausalLM"],
    "rope_scaling": null})";
  const DecoderModel model = make_decoder(write("config.json", json), "");
  EXPECT_EQ(model.config.context_length, 99);
  EXPECT_EQ(model.config.kv_heads, 4);
  EXPECT_FLOAT_EQ(model.config.norm_epsilon, 1e-4f);
  EXPECT_TRUE(model.tied);
}

TEST_F(DecoderModelTest, WrongFieldsAreNamed) {
  EXPECT_THAT(refusal(write("a.toml", good_ + "witdh = 3\n")),
              HasSubstr("field 'witdh': is unknown"));
  EXPECT_THAT(refusal(write("b.toml", "layers = 2\n")), HasSubstr("field 'width': is missing"));
  EXPECT_THAT(refusal(write("c.toml", good_ + "head_dim = 7\n")), HasSubstr("must be even"));
  EXPECT_THAT(refusal(write("d.toml", good_ + "tied = 1\n")), HasSubstr("true or false"));
  EXPECT_THAT(refusal(write("e.toml", "layers = 0\n")), HasSubstr("whole number from 1"));
  EXPECT_THAT(refusal(write("f.toml", "layers = \n")), HasSubstr("f.toml:1"));
  EXPECT_THAT(refusal(write("g.toml", good_ + "family = \"bert\"\n")),
              HasSubstr("decoders are llama"));
  EXPECT_THAT(refusal(write("h.json", R"({"model_type": "bert"})")), HasSubstr("llama is trained"));
  EXPECT_THAT(refusal(folder_.string() + "/absent.toml"), HasSubstr("cannot read"));
  EXPECT_EQ(refusal(write("i.toml", "[model]\n" + good_)), "");
  EXPECT_THAT(refusal(write("k.toml", good_ + "experts = 2\nexperts_used = 3\n")),
              HasSubstr("field 'experts_used': 3 of 2 experts"));
  EXPECT_THAT(refusal(write("j.toml", "width = 3\nlayers = 4\n[model]\n" + good_)),
              HasSubstr("beside the table [model] there is layers, width; all fields belong"));
}

std::vector<std::string> words_of(const std::vector<ParameterSpec>& parameters) {
  std::vector<std::string> words;
  for (const ParameterSpec& one : parameters) {
    words.push_back(one.name);
    for (const std::int64_t size : one.shape) words.back() += " " + std::to_string(size);
  }
  return words;
}

TEST_F(DecoderModelTest, ParametersOfAFileAreThoseOfItsModel) {
  const std::string path = folder_.string() + "/in.gguf";
  for (const bool tied : {true, false}) {
    test::RandomLlama shape;
    shape.tied = tied;
    test::write_random_llama(path, shape, DType::kQ8_0, 3);
    EXPECT_EQ(words_of(read_decoder_parameters(path)),
              words_of(decoder_parameters(read_decoder(path, ""))));
  }
}

// A directory of weights and sizes alone; read_decoder() asks for its tokenizer.
TEST_F(DecoderModelTest, ParametersOfADirectoryNeedNoTokenizer) {
  test::HubModel shape;
  write("config.json", test::hub_config(shape).dump());
  test::hub_weights(shape, DType::kF32, 3).save(folder_.string() + "/model.safetensors");
  const std::vector<std::string> words = words_of(read_decoder_parameters(folder_.string()));
  ASSERT_EQ(words.size(), 3 + 2 * 9u);
  EXPECT_EQ(words.front(), "token_embd.weight 64 32");
  EXPECT_EQ(words[7], "blk.0.ffn_gate.weight 48 32");
  EXPECT_EQ(words.back(), "output.weight 64 32");
  nlohmann::json other = test::hub_config(shape);
  other["architectures"] = {"Qwen2ForCausalLM"};
  other["model_type"] = "qwen2";
  write("config.json", other.dump());
  try {
    read_decoder_parameters(folder_.string());
    ADD_FAILURE() << "of another architecture";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("is of the architecture qwen2"));
  }
}

// What is trained from a file and exported at once is that file.
TEST_F(DecoderModelTest, AFileGoesInAndOutUnchanged) {
  const std::string in = folder_.string() + "/in.gguf", out = folder_.string() + "/out.gguf";
  for (const bool tied : {true, false}) {
    test::RandomLlama shape;
    shape.tied = tied;
    test::write_random_llama(in, shape, DType::kQ8_0, 3);
    const DecoderModel model = read_decoder(in, "");
    ParameterSet parameters(decoder_parameters(model));
    read_decoder_values(in, parameters);
    const std::string run = folder_.string() + "/run";
    CheckpointWriter writer(run, 1);
    const std::string& partial = writer.files();
    std::vector<StoredTensor> tensors;
    for (std::size_t at = 0; at < parameters.size(); ++at) {
      const ParameterSpec& spec = parameters.spec(at);
      tensors.push_back({spec.name, spec.shape, parameters.values(at)});
    }
    write_tensors(partial + "/model.safetensors", tensors);
    write_bytes(partial + "/skeleton.gguf", std::as_bytes(std::span(model.skeleton)));
    writer.seal({{"family", "llama"}, {"tied", tied}});
    writer.publish(0);
    const ExportedDecoder exported = export_decoder(find_checkpoint(run));
    exported.writer.save(out);

    const auto before = model::load_model(in), after = model::load_model(out);
    EXPECT_EQ(after->config().context_length, shape.context_length);
    EXPECT_EQ(after->config().quantization, "f32");
    EXPECT_EQ(after->tokenizer().encode("a cat", {}), before->tokenizer().encode("a cat", {}));
    EXPECT_EQ(after->output().data == after->embedding().data, tied);
    std::vector<float> first(64), second(64);
    for (std::int64_t row = 0; row < 128; ++row) {
      dequantize_row(before->layers()[1].wq, row, first.data());
      dequantize_row(after->layers()[1].wq, row, second.data());
      ASSERT_EQ(first, second);
    }
  }
}

TEST_F(DecoderModelTest, OnlyCheckpointsOfDecodersAreExported) {
  CheckpointWriter writer(folder_.string() + "/run", 1);
  writer.seal({{"family", "recommender"}});
  writer.publish(0);
  EXPECT_THROW(export_decoder(find_checkpoint(folder_.string() + "/run")), Error);
}

TEST_F(DecoderModelTest, WorkThatAFileHasNoPlaceForIsNotExported) {
  for (const auto& [name, value] :
       {std::pair("--early-exit", "0.9"), {"--depth", "0.5"}, {"--expert-skew", "2"}}) {
    const nlohmann::json fields = {{"family", "llama"}, {"options", {{name, value}}}};
    const Checkpoint checkpoint{"run", fields};
    EXPECT_THAT([&] { export_decoder(checkpoint); },
                testing::ThrowsMessage<Error>(HasSubstr(std::string("trained with ") + name)));
  }
}

}  // namespace
}  // namespace tandem::training
