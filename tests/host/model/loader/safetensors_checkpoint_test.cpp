// SPDX-License-Identifier: Apache-2.0
//
// SafetensorsCheckpoint: directories with one file and with shards, names, changed and copied
// tensors, and the errors for incomplete directories.
#include "model/loader/safetensors/safetensors_checkpoint.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "model/families/family.h"
#include "model/loader/hub/texts.h"
#include "support/safetensors_writer.h"
#include "support/tree.h"

namespace tandem::model {
namespace {

using nlohmann::json;
using test::HubModel;
using test::SafetensorsWriter;
using test::TemporaryFolder;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// A checkpoint of texts and bytes in memory.
struct InMemory {
  explicit InMemory(const SafetensorsWriter& writer, json config = test::hub_config({}))
      : bytes(writer.bytes()) {
    SafetensorsParts parts;
    parts.directory = "dir/model";
    parts.config = read_hub_config(config.dump(), "dir/model/config.json");
    parts.shards.emplace_back(std::as_bytes(std::span(bytes.data(), bytes.size())),
                              "dir/model/model.safetensors");
    checkpoint.emplace(std::move(parts));
  }
  const std::string bytes;
  std::optional<SafetensorsCheckpoint> checkpoint;
};

template <typename Run>
std::string checkpoint_error(const Run& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

void write_directory(const TemporaryFolder& folder, const HubModel& shape = {}) {
  test::write_text(folder.file("config.json"), test::hub_config(shape).dump());
  test::hub_weights(shape, DType::kBF16, 1).save(folder.file("model.safetensors"));
}

// The same weights over two files.
void write_shards(const TemporaryFolder& folder) {
  const std::string whole = test::hub_weights({}, DType::kF32, 1).bytes();
  const SafetensorsFile file(std::as_bytes(std::span(whole.data(), whole.size())), "whole");
  SafetensorsWriter shards[2];
  json map;
  for (std::size_t i = 0; i < file.tensors().size(); ++i) {
    const SafetensorsTensor& tensor = file.tensors()[i];
    shards[i % 2].add_raw(tensor.name, tensor.type, tensor.shape,
                          {reinterpret_cast<const char*>(tensor.data), tensor.size_bytes});
    map[tensor.name] = i % 2 == 0 ? "a.safetensors" : "b.safetensors";
  }
  test::write_text(folder.file("config.json"), test::hub_config({}).dump());
  shards[0].save(folder.file("a.safetensors"));
  shards[1].save(folder.file("b.safetensors"));
  test::write_text(folder.file("model.safetensors.index.json"),
                   json{{"metadata", {{"total_size", 1}}}, {"weight_map", map}}.dump());
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

TEST(SafetensorsCheckpoint, AnswersInGgufsWords) {
  const TemporaryFolder folder;
  write_directory(folder);
  const SafetensorsCheckpoint checkpoint(folder.path());
  EXPECT_EQ(checkpoint.get_string("general.architecture"), "llama");
  EXPECT_EQ(checkpoint.require_u32("llama.block_count"), 2u);
  EXPECT_FLOAT_EQ(*checkpoint.get_f32("llama.rope.freq_base"), 10000.0f);
  EXPECT_EQ(checkpoint.get_u32("llama.expert_count"), std::nullopt);
  EXPECT_FALSE(checkpoint.rotates_neighbours());
  const CheckpointTensor* down = checkpoint.find_tensor("blk.1.ffn_down.weight");
  ASSERT_NE(down, nullptr);
  const TensorView view = checkpoint.view(*down);
  EXPECT_EQ(view.rows, 32);
  EXPECT_EQ(view.columns, 48);
  EXPECT_EQ(view.dtype, DType::kBF16);
  const FamilyWeights weights = read_family(checkpoint, 64);
  EXPECT_EQ(weights.config.quantization, "bf16");
  EXPECT_EQ(weights.layers.size(), 2u);
  EXPECT_FALSE(weights.config.rope.interleaved);
  double heard = 0;
  checkpoint.read_ahead([&](double fraction) { heard = fraction; });
  EXPECT_DOUBLE_EQ(heard, 1.0);
}

TEST(SafetensorsCheckpoint, HasTheNameOfItsDirectoryHoweverThatIsWritten) {
  const TemporaryFolder folder;
  write_directory(folder);
  const std::string name = std::filesystem::path(folder.path()).filename().string();
  for (const char* end : {"", "/", "//", "/.", "/./"}) {
    EXPECT_EQ(SafetensorsCheckpoint(folder.path() + end).get_string("general.name"), name) << end;
  }
}

TEST(SafetensorsCheckpoint, HasNoSoftCapWhereConfigSaysNull) {
  const std::filesystem::path folder =
      test::source_dir() / "tests/host/model/families/recorded/gemma2";
  json config = json::parse(text_of(folder / "config.json"));
  const auto config_of = [&] {
    SafetensorsParts parts;
    parts.directory = folder;
    parts.config = read_hub_config(config.dump(), "dir/model/config.json");
    parts.shards.emplace_back(folder / "model.safetensors");
    const SafetensorsCheckpoint checkpoint(std::move(parts));
    return read_family(checkpoint, config["vocab_size"]).config;
  };
  EXPECT_EQ(config_of().attention_softcap, 3.0f);
  EXPECT_EQ(config_of().logit_softcap, 4.0f);
  config["attn_logit_softcapping"] = nullptr;
  EXPECT_EQ(config_of().attention_softcap, 0.0f);
  EXPECT_EQ(config_of().logit_softcap, 4.0f);
  config["final_logit_softcapping"] = nullptr;
  EXPECT_EQ(config_of().logit_softcap, 0.0f);
  config.erase("attn_logit_softcapping");
  EXPECT_EQ(config_of().attention_softcap, 50.0f);
}

TEST(SafetensorsCheckpoint, PutsShardsTogether) {
  const TemporaryFolder folder;
  write_shards(folder);
  const SafetensorsCheckpoint checkpoint(folder.path());
  std::set<std::string> names;
  checkpoint.for_each_tensor([&](const CheckpointTensor& tensor) { names.emplace(tensor.name); });
  EXPECT_EQ(names.size(), 3u + 2 * 9);
  EXPECT_EQ(read_family(checkpoint, 64).layers.size(), 2u);
}

TEST(SafetensorsCheckpoint, SaysWhatADirectoryLacks) {
  const TemporaryFolder folder;
  const auto opened = [&] {
    return checkpoint_error([&] { SafetensorsCheckpoint(folder.path()); });
  };
  EXPECT_THAT(opened(), HasSubstr(folder.path() + ": has no config.json"));
  test::write_text(folder.file("config.json"), R"({"architectures": ["BertModel"]})");
  EXPECT_THAT(opened(), HasSubstr("\"BertModel\" is not supported")) << "not its weights' fault";
  test::write_text(folder.file("config.json"), test::hub_config({}).dump());
  EXPECT_THAT(opened(),
              HasSubstr("has neither model.safetensors nor model.safetensors.index.json"));
  write_shards(folder);
  std::filesystem::remove(folder.file("b.safetensors"));
  EXPECT_THAT(opened(), HasSubstr("field 'weight_map': the shard 'b.safetensors' is missing"));
  std::filesystem::copy_file(folder.file("a.safetensors"), folder.file("b.safetensors"));
  EXPECT_THAT(opened(), HasSubstr("b.safetensors: tensor '"));
  EXPECT_THAT(opened(), EndsWith("is missing, though model.safetensors.index.json says that it "
                                 "lies here"));
}

TEST(SafetensorsCheckpoint, ComparesTheIndexWithTheShardsBothWays) {
  const TemporaryFolder folder;
  write_shards(folder);
  const std::string path = folder.file("model.safetensors.index.json");
  json index = json::parse(text_of(path));
  index["weight_map"].erase("model.layers.1.mlp.up_proj.weight");
  test::write_text(path, index.dump());
  EXPECT_THAT(checkpoint_error([&] { SafetensorsCheckpoint(folder.path()); }),
              EndsWith("tensor 'model.layers.1.mlp.up_proj.weight': is not listed in "
                       "model.safetensors.index.json"));
}

TEST(SafetensorsCheckpoint, CopiesNoTextThatIsTooLong) {
  const TemporaryFolder folder;
  write_directory(folder);
  for (const char* name : {"chat_template.jinja", "tokenizer.json", "config.json"}) {
    test::write_text(folder.file(name), "{}");
    std::filesystem::resize_file(folder.file(name), std::uintmax_t{1} << 32);
    EXPECT_THAT(checkpoint_error([&] { read_hub_texts(folder.path()); }),
                HasSubstr(std::string(name) + ": has 4294967296 bytes, more than the "));
    if (std::string(name) != "config.json") std::filesystem::remove(folder.file(name));
  }
  EXPECT_THAT(checkpoint_error([&] { SafetensorsCheckpoint(folder.path()); }),
              HasSubstr("config.json: has 4294967296 bytes"));
}

TEST(SafetensorsCheckpoint, WaitsForNoPipe) {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("config.json");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(checkpoint_error([&] { SafetensorsCheckpoint(folder.path()); }),
              HasSubstr("not a regular file"));
}

TEST(SafetensorsCheckpoint, HoldsNumbersToTheirRange) {
  json config = test::hub_config({});
  config["rope_theta"] = 1e300;
  const InMemory model(test::hub_weights({}, DType::kF32, 1), config);
  EXPECT_THAT(checkpoint_error([&] { model.checkpoint->get_f32("llama.rope.freq_base"); }),
              HasSubstr("field 'rope_theta': must be a number of 32 bits"));
  config = test::hub_config({});
  config["partial_rotary_factor"] = 0.5;
  config["head_dim"] = -8;
  EXPECT_THAT(
      checkpoint_error([&] { InMemory wrong(test::hub_weights({}, DType::kF32, 1), config); }),
      HasSubstr("field 'head_dim': must be in 2..4096"));
}

TEST(SafetensorsCheckpoint, KeepsToFilesOfTheDirectory) {
  const TemporaryFolder folder;
  write_shards(folder);
  for (const char* name : {"../b.safetensors", "/etc/b.safetensors", "x/b.safetensors", "b.bin",
                           ".safetensors", "", "a\\b.safetensors"}) {
    json index = json::parse(text_of(folder.file("model.safetensors.index.json")));
    index["weight_map"]["model.norm.weight"] = name;
    EXPECT_THAT(checkpoint_error([&] { read_weight_map(index.dump(), "i.json"); }),
                HasSubstr("tensor 'model.norm.weight' lies in"))
        << name;
  }
  EXPECT_THAT(checkpoint_error([&] { read_weight_map("{}", "i.json"); }),
              HasSubstr("i.json: field 'weight_map': is missing or empty"));
  EXPECT_THAT(checkpoint_error([&] {
                read_weight_map(R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})", "i");
              }),
              HasSubstr("tensor 'a' occurs twice"));
}

TEST(SafetensorsCheckpoint, NamesFieldsAndTensorsInTheFormatsWords) {
  const auto error_with = [](const char* field, const json& value) {
    json config = test::hub_config({});
    config[field] = value;
    return checkpoint_error([&] {
      read_family(*InMemory(test::hub_weights({}, DType::kF32, 1), config).checkpoint, 64);
    });
  };
  EXPECT_EQ(error_with("num_hidden_layers", "two"),
            "[safetensors] dir/model/config.json: field 'num_hidden_layers': must be an integer in "
            "0..4294967295, is \"two\"");
  EXPECT_THAT(error_with("num_hidden_layers", nullptr),
              EndsWith("field 'num_hidden_layers': is missing"));
  EXPECT_THAT(error_with("num_hidden_layers", -1), HasSubstr("is -1"));
  EXPECT_THAT(error_with("num_attention_heads", 0), HasSubstr("field 'num_attention_heads'"));
  EXPECT_THAT(error_with("rms_norm_eps", true),
              HasSubstr("field 'rms_norm_eps': must be a number"));
  EXPECT_THAT(error_with("rms_norm_eps", 1e300), HasSubstr("field 'rms_norm_eps'"));
  EXPECT_THAT(error_with("vocab_size", 65),
              HasSubstr("field 'vocab_size': 65 tokens, but the embedding has 64 rows"));
  EXPECT_THAT(error_with("num_hidden_layers", 3),
              EndsWith("dir/model/model.safetensors: the tensor "
                       "'model.layers.2.input_layernorm.weight' is missing"));
  EXPECT_THAT(error_with("intermediate_size", 40),
              HasSubstr("model.safetensors: tensor 'model.layers.0.mlp.gate_proj.weight'"));
  SafetensorsWriter strange = test::hub_weights({}, DType::kF32, 1);
  strange.add("model.layers.0.self_attn.sinks", {4}, {1, 2, 3, 4});
  EXPECT_THAT(checkpoint_error([&] { read_family(*InMemory(strange).checkpoint, 64); }),
              HasSubstr("tensor 'model.layers.0.self_attn.sinks'"));
}

TEST(SafetensorsCheckpoint, TiesTheOutputOnlyWhereConfigSaysSo) {
  const SafetensorsWriter untied = test::hub_weights({}, DType::kF32, 1);
  const SafetensorsWriter tied = test::hub_weights({.ties_embeddings = true}, DType::kF32, 1);
  EXPECT_THAT(checkpoint_error([&] { InMemory missing(tied); }),
              EndsWith("the tensor 'lm_head.weight' is missing"));
  const json config = test::hub_config({.ties_embeddings = true});
  EXPECT_EQ(InMemory(tied, config).checkpoint->find_tensor("output.weight"), nullptr);
  // Stored all the same: the configuration decides.
  EXPECT_EQ(InMemory(untied, config).checkpoint->find_tensor("output.weight"), nullptr);
}

TEST(SafetensorsCheckpoint, AddsOneToGemmasNorms) {
  json config = test::hub_config({.ties_embeddings = true});
  config["architectures"] = {"Gemma2ForCausalLM"};
  config["hidden_act"] = "gelu_pytorch_tanh";
  SafetensorsWriter writer;
  writer.add("model.embed_tokens.weight", {64, 2}, std::vector<float>(128), DType::kBF16);
  writer.add("model.layers.0.post_attention_layernorm.weight", {2}, {0.5, -1}, DType::kBF16);
  writer.add("model.layers.0.pre_feedforward_layernorm.weight", {2}, {1, 2}, DType::kF16);
  writer.add("model.layers.0.mlp.up_proj.weight", {1, 2}, {3, 4}, DType::kF16);
  const InMemory model(writer, config);
  const auto values = [&](const char* name) {
    const CheckpointTensor* tensor = model.checkpoint->find_tensor(name);
    std::vector<float> row(2);
    if (tensor != nullptr) dequantize_row(tensor->dtype, tensor->data, row.data(), 2);
    return row;
  };
  EXPECT_THAT(values("blk.0.post_attention_norm.weight"), testing::ElementsAre(1.5, 0));
  EXPECT_THAT(values("blk.0.ffn_norm.weight"), testing::ElementsAre(2, 3));
  EXPECT_THAT(values("blk.0.ffn_up.weight"), testing::ElementsAre(3, 4));
}

TEST(SafetensorsCheckpoint, AnswersWithTheDefaultsOfTheClass) {
  json config = test::hub_config({.ties_embeddings = true});
  config["architectures"] = {"Gemma2ForCausalLM"};
  config["hidden_act"] = "gelu_pytorch_tanh";
  SafetensorsWriter writer;
  writer.add("model.embed_tokens.weight", {64, 2}, std::vector<float>(128));
  const InMemory model(writer, config);
  EXPECT_EQ(model.checkpoint->get_u32("gemma2.attention.key_length"), 256u);
  EXPECT_EQ(model.checkpoint->get_u32("gemma2.attention.sliding_window"), 4096u);
  EXPECT_EQ(model.checkpoint->get_f32("gemma2.final_logit_softcapping"), 30.0f);
  EXPECT_EQ(model.checkpoint->get_bools("gemma2.attention.sliding_window_pattern"),
            (std::vector<bool>{true, false}));
}

TEST(SafetensorsCheckpoint, CopiesWhatDoesNotLieOnItsElementsSize) {
  SafetensorsWriter writer;
  writer.add_raw("vision_tower.flag", "U8", {1}, "x");
  writer.add("model.embed_tokens.weight", {64, 1}, std::vector<float>(64, 2.5f));
  writer.add("lm_head.weight", {64, 1}, std::vector<float>(64, 1.5f), DType::kF16);
  const InMemory model(writer);
  const CheckpointTensor* tensor = model.checkpoint->find_tensor("token_embd.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor->data) % 4, 0u);
  float first = 0;
  dequantize_row(tensor->dtype, tensor->data, &first, 1);
  EXPECT_EQ(first, 2.5f);
  EXPECT_EQ(model.checkpoint->find_tensor("vision_tower.flag"), nullptr);
}

TEST(SafetensorsCheckpoint, RefusesTypesItCannotReadByName) {
  SafetensorsWriter writer = test::hub_weights({}, DType::kF32, 1);
  writer.add_raw("model.layers.0.mlp.up_proj.bias", "F8_E5M2", {4}, "abcd");
  EXPECT_THAT(checkpoint_error([&] { InMemory model(writer); }),
              HasSubstr("tensor 'model.layers.0.mlp.up_proj.bias': the dtype F8_E5M2 is not read"));
}

TEST(SafetensorsCheckpoint, PassesOverTablesInTypesThatNobodyComputesWith) {
  SafetensorsWriter writer = test::hub_weights({}, DType::kF32, 1);
  writer.add_raw("model.position_ids", "I64", {1}, "12345678");
  writer.add_raw("model.some_table", "F64", {1}, "12345678");
  const InMemory model(writer);
  EXPECT_EQ(model.checkpoint->find_tensor("model.position_ids"), nullptr);
  EXPECT_EQ(read_family(*model.checkpoint, 64).layers.size(), 2u);
}

TEST(SafetensorsCheckpoint, GivesExpertsOneByOne) {
  SafetensorsWriter writer = test::hub_weights({}, DType::kF32, 1);
  for (int expert = 0; expert < 3; ++expert) {
    const std::string name =
        "model.layers.0.block_sparse_moe.experts." + std::to_string(expert) + ".w3.weight";
    writer.add(name, {1, 2}, {static_cast<float>(expert), 1});
  }
  const InMemory model(writer);
  const auto views = model.checkpoint->experts("blk.0.ffn_up_exps.weight", 3);
  ASSERT_EQ(views.size(), 3u);
  float first = 0;
  dequantize_row(DType::kF32, views[2].data, &first, 1);
  EXPECT_EQ(first, 2.0f);
  EXPECT_TRUE(model.checkpoint->experts("blk.0.ffn_down_exps.weight", 3).empty());
  EXPECT_THAT(checkpoint_error([&] { model.checkpoint->experts("blk.0.ffn_up_exps.weight", 4); }),
              HasSubstr("the tensor 'model.layers.0.block_sparse_moe.experts.3.w3.weight'"));
  EXPECT_THAT(checkpoint_error([&] { model.checkpoint->experts("blk.0.ffn_up_exps.weight", 2); }),
              HasSubstr("the model has 2 experts"));
}

TEST(TensorNames, AreOneToOne) {
  const NameStyle plain, gemma{.has_post_norms = true};
  for (const auto& [hub, gguf] :
       {std::pair{"model.embed_tokens.weight", "token_embd.weight"},
        std::pair{"model.layers.11.self_attn.q_proj.bias", "blk.11.attn_q.bias"},
        std::pair{"model.layers.0.mlp.shared_expert_gate.weight",
                  "blk.0.ffn_gate_inp_shexp.weight"},
        std::pair{"model.layers.0.self_attn.qkv_proj.weight", "blk.0.attn_qkv.weight"}}) {
    EXPECT_EQ(gguf_tensor_name(hub, plain), gguf);
    EXPECT_EQ(hub_tensor_name(gguf, plain), hub);
  }
  const std::string norm = "model.layers.0.post_attention_layernorm.weight";
  EXPECT_EQ(gguf_tensor_name(norm, plain), "blk.0.ffn_norm.weight");
  EXPECT_EQ(gguf_tensor_name(norm, gemma), "blk.0.post_attention_norm.weight");
  EXPECT_EQ(gguf_tensor_name("model.layers.5.mlp.experts.17.down_proj.weight", plain),
            "blk.5.ffn_down.17.weight");
  for (const char* unknown :
       {"model.layers.01.self_attn.q_proj.weight", "model.layers..mlp.gate.weight",
        "model.layers.1.mlp.experts.x.up_proj.weight", "model.layers.1.weight", "model.layers.1.",
        "model.layers.99999999.input_layernorm.weight", "blk.0.attn_q.weight", ""}) {
    EXPECT_EQ(gguf_tensor_name(unknown, plain), "") << unknown;
  }
}

}  // namespace
}  // namespace tandem::model
