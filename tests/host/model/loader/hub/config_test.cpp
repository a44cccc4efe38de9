// SPDX-License-Identifier: Apache-2.0
//
// config.json -> GGUF's keys: defaults, windows, rotary scaling, and fields that are refused.
#include "model/loader/hub/config.h"

#include <gmock/gmock.h>

#include <cmath>

#include "support/safetensors_writer.h"

namespace tandem::model {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json base(const char* name = "LlamaForCausalLM") {
  json config = test::hub_config({});
  config["architectures"] = {name};
  if (std::string(name).starts_with("Gemma")) config["hidden_act"] = "gelu_pytorch_tanh";
  return config;
}

HubConfig read(const json& config) { return read_hub_config(config.dump(), "m/config.json"); }

std::string config_error(const json& config) {
  try {
    read(config);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// An error of `config` with one field changed.
std::string config_error_with(json config, const char* field, const json& value) {
  config[field] = value;
  return config_error(config);
}

json value(const HubConfig& config, const std::string& key) {
  const auto found = config.values.find(key);
  return found == config.values.end() ? json() : found->second;
}

TEST(HubConfig, TranslatesFieldsToKeys) {
  const HubConfig config = read(base());
  EXPECT_EQ(value(config, "general.architecture"), "llama");
  EXPECT_EQ(value(config, "llama.block_count"), 2);
  EXPECT_EQ(value(config, "llama.embedding_length"), 32);
  EXPECT_EQ(value(config, "llama.feed_forward_length"), 48);
  EXPECT_EQ(value(config, "llama.attention.head_count"), 4);
  EXPECT_EQ(value(config, "llama.attention.head_count_kv"), 2);
  EXPECT_EQ(value(config, "llama.attention.layer_norm_rms_epsilon"), 1e-5);
  EXPECT_EQ(value(config, "llama.context_length"), 256);
  EXPECT_EQ(value(config, "llama.rope.freq_base"), 10000.0);
  EXPECT_TRUE(value(config, "llama.attention.key_length").is_null());
  EXPECT_STREQ(config.field_error("llama.attention.key_length", "is missing").what(),
               "[safetensors] m/config.json: field 'head_dim': is missing");
}

TEST(HubConfig, KnowsTheFamilyOfEveryClass) {
  for (const auto& [hub, gguf] :
       {std::pair{"MistralForCausalLM", "llama"}, std::pair{"MixtralForCausalLM", "llama"},
        std::pair{"Qwen2ForCausalLM", "qwen2"}, std::pair{"Qwen3MoeForCausalLM", "qwen3moe"},
        std::pair{"Gemma2ForCausalLM", "gemma2"}, std::pair{"Phi3ForCausalLM", "phi3"}}) {
    EXPECT_EQ(read(base(hub)).architecture, gguf);
  }
  EXPECT_THAT(config_error(base("BertModel")),
              HasSubstr("field 'architectures': \"BertModel\" is not supported; supported: Llama"));
  EXPECT_THAT(config_error_with(base(), "architectures", 3),
              HasSubstr("must name the model's class"));
}

TEST(HubConfig, TakesTheTextPartOfAModelThatSeesAndTheDefaultsOfItsClass) {
  const json config = {{"architectures", {"Gemma3ForConditionalGeneration"}},
                       {"text_config",
                        {{"hidden_size", 2560},
                         {"num_hidden_layers", 7},
                         {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                         {"sliding_window", 1024}}},
                       {"vision_config", {{"hidden_size", 1152}}}};
  const HubConfig read_config = read(config);
  EXPECT_EQ(value(read_config, "gemma3.embedding_length"), 2560);
  EXPECT_EQ(value(read_config, "gemma3.attention.head_count"), 8);
  EXPECT_EQ(value(read_config, "gemma3.attention.key_length"), 256);
  EXPECT_EQ(value(read_config, "gemma3.attention.scale"), 1.0 / 16);
  EXPECT_EQ(value(read_config, "gemma3.rope.freq_base"), 1e6);
  EXPECT_EQ(value(read_config, "gemma3.rope.freq_base_swa"), 1e4);
  EXPECT_EQ(value(read_config, "gemma3.rope.scaling.type"), "linear");
  EXPECT_EQ(value(read_config, "gemma3.rope.scaling.factor"), 8.0);
  EXPECT_EQ(value(read_config, "gemma3.attention.sliding_window_pattern"),
            json({true, true, true, true, true, false, true}));
  EXPECT_TRUE(read_config.ties_embeddings);
  EXPECT_THAT(read_config.field_error("gemma3.block_count", "x").what(),
              HasSubstr("field 'text_config.num_hidden_layers'"));
  EXPECT_THAT(config_error_with(config, "text_config", 3),
              HasSubstr("'text_config.': is not an object"));
}

TEST(HubConfig, NullSaysThatThereIsNone) {
  json config = base("Gemma2ForCausalLM");
  EXPECT_EQ(value(read(config), "gemma2.attn_logit_softcapping"), 50.0);
  EXPECT_EQ(value(read(config), "gemma2.final_logit_softcapping"), 30.0);
  config["attn_logit_softcapping"] = nullptr;
  EXPECT_EQ(value(read(config), "gemma2.attn_logit_softcapping"), 0.0);
  EXPECT_EQ(value(read(config), "gemma2.final_logit_softcapping"), 30.0);
}

TEST(HubConfig, LeavesOutFieldsThatTheClassDoesNotLookAt) {
  json llama = base();
  llama["sliding_window"] = 100;
  llama["num_experts"] = 8;
  llama["num_local_experts"] = 8;
  llama["mlp_only_layers"] = {0};
  EXPECT_TRUE(value(read(llama), "llama.attention.sliding_window").is_null());
  EXPECT_TRUE(value(read(llama), "llama.expert_count").is_null());
  json qwen = base("Qwen2ForCausalLM");
  qwen["num_experts"] = 8;
  EXPECT_TRUE(value(read(qwen), "qwen2.expert_count").is_null());
  json mixtral = base("MixtralForCausalLM");
  mixtral["num_local_experts"] = 8;
  mixtral["sliding_window"] = 100;
  EXPECT_EQ(value(read(mixtral), "llama.expert_count"), 8);
  EXPECT_EQ(value(read(mixtral), "llama.attention.sliding_window"), 100);
}

TEST(HubConfig, TakesWindowsAndEpsilonsOfTheClass) {
  const auto without_epsilon = [](const char* name) {
    json config = base(name);
    config.erase("rms_norm_eps");
    return config;
  };
  const HubConfig mistral = read(without_epsilon("MistralForCausalLM"));
  EXPECT_EQ(value(mistral, "llama.attention.sliding_window"), 4096);
  EXPECT_EQ(value(mistral, "llama.attention.layer_norm_rms_epsilon"), 1e-6);
  const HubConfig mixtral = read(without_epsilon("MixtralForCausalLM"));
  EXPECT_TRUE(value(mixtral, "llama.attention.sliding_window").is_null());
  EXPECT_EQ(value(mixtral, "llama.attention.layer_norm_rms_epsilon"), 1e-5);
  EXPECT_EQ(
      value(read(without_epsilon("LlamaForCausalLM")), "llama.attention.layer_norm_rms_epsilon"),
      1e-6);
  EXPECT_EQ(
      value(read(without_epsilon("Phi3ForCausalLM")), "phi3.attention.layer_norm_rms_epsilon"),
      1e-5);
  EXPECT_EQ(
      value(read(without_epsilon("Gemma2ForCausalLM")), "gemma2.attention.layer_norm_rms_epsilon"),
      1e-6);
  json qwen = without_epsilon("Qwen3ForCausalLM");
  qwen["use_sliding_window"] = true;
  qwen["num_hidden_layers"] = 30;
  const HubConfig windowed = read(qwen);
  EXPECT_EQ(value(windowed, "qwen3.attention.sliding_window"), 4096);
  std::vector<bool> slides(30);
  slides[28] = slides[29] = true;
  EXPECT_EQ(value(windowed, "qwen3.attention.sliding_window_pattern"), json(slides));
  EXPECT_EQ(value(windowed, "qwen3.attention.layer_norm_rms_epsilon"), 1e-6);
  json experts = base("Qwen2MoeForCausalLM");
  experts["use_sliding_window"] = true;
  EXPECT_EQ(value(read(experts), "qwen2moe.attention.sliding_window_pattern"), json({true, false}));
  json alike = base("Qwen3MoeForCausalLM");
  alike["use_sliding_window"] = true;
  EXPECT_EQ(value(read(alike), "qwen3moe.attention.sliding_window"), 4096);
  EXPECT_TRUE(value(read(alike), "qwen3moe.attention.sliding_window_pattern").is_null());
}

TEST(HubConfig, SaysWhichLayersHaveAWindow) {
  json mistral = base("MistralForCausalLM");
  mistral["sliding_window"] = 100;
  EXPECT_EQ(value(read(mistral), "llama.attention.sliding_window"), 100);
  EXPECT_TRUE(value(read(mistral), "llama.attention.sliding_window_pattern").is_null());
  json qwen = base("Qwen2ForCausalLM");
  qwen["sliding_window"] = 100;
  qwen["max_window_layers"] = 1;
  EXPECT_TRUE(value(read(qwen), "qwen2.attention.sliding_window").is_null());
  qwen["use_sliding_window"] = true;
  EXPECT_EQ(value(read(qwen), "qwen2.attention.sliding_window_pattern"), json({false, true}));
  qwen["layer_types"] = {"sliding_attention", "full_attention"};
  EXPECT_EQ(value(read(qwen), "qwen2.attention.sliding_window_pattern"), json({true, false}));
  EXPECT_THAT(config_error_with(qwen, "layer_types", {"linear_attention"}),
              HasSubstr("field 'layer_types': \"linear_attention\" is not supported"));
}

TEST(HubConfig, ReadsRotaryScalingOfOldAndNewFiles) {
  json config = base();
  config["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_EQ(value(read(config), "llama.rope.scaling.factor"), 2.0);
  config["rope_scaling"] = {{"rope_type", "yarn"},
                            {"factor", 4.0},
                            {"original_max_position_embeddings", 64},
                            {"beta_fast", 30},
                            {"attention_factor", 2.0}};
  const HubConfig yarn = read(config);
  EXPECT_EQ(value(yarn, "llama.rope.scaling.type"), "yarn");
  EXPECT_EQ(value(yarn, "llama.rope.scaling.original_context_length"), 64);
  EXPECT_EQ(value(yarn, "llama.rope.scaling.yarn_beta_fast"), 30.0);
  EXPECT_NEAR(value(yarn, "llama.rope.scaling.attn_factor").get<double>(),
              2.0 / (1.0 + 0.1 * std::log(4.0)), 1e-12);
  config.erase("rope_scaling");
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5.0}};
  EXPECT_EQ(value(read(config), "llama.rope.freq_base"), 5.0);
  config["partial_rotary_factor"] = 0.5;
  EXPECT_EQ(value(read(config), "llama.rope.dimension_count"), 4);
}

TEST(HubConfig, DividesSlowFrequenciesForLlama3) {
  json config = base();
  config["head_dim"] = 128;
  config["rope_theta"] = 500000.0;
  config["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 8192}};
  const std::vector<float> divisors = read(config).tensors.at("rope_freqs.weight");
  ASSERT_EQ(divisors.size(), 64u);
  EXPECT_EQ(divisors.front(), 1.0f);
  EXPECT_EQ(divisors.back(), 8.0f);
  // Pair 31: a wavelength of 2 pi 500000^(31/64) = 3619; smooth = (8192 / 3619 - 1) / 3.
  const double wavelength = 2 * 3.14159265358979 * std::pow(500000.0, 31.0 / 64);
  const double smooth = (8192 / wavelength - 1) / 3;
  EXPECT_NEAR(divisors[31], 1 / ((1 - smooth) / 8 + smooth), 1e-5);
}

TEST(HubConfig, ReadsLongropeFactorsOfPhi3) {
  json config = base("Phi3ForCausalLM");
  config["original_max_position_embeddings"] = 64;
  config["rope_scaling"] = {
      {"type", "su"}, {"short_factor", {1, 1, 1, 1.5}}, {"long_factor", {1, 2, 3, 4}}};
  const HubConfig phi = read(config);
  EXPECT_EQ(phi.tensors.at("rope_factors_long.weight"), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_NEAR(value(phi, "phi3.rope.scaling.attn_factor").get<double>(),
              std::sqrt(1 + std::log(4.0) / std::log(64.0)), 1e-12);
  config["rope_scaling"]["long_factor"] = {1, 2, 3, 1e300};
  EXPECT_THAT(config_error(config), HasSubstr("must hold numbers of 32 bits only"));
  config["rope_scaling"]["long_factor"] = {1, 2};
  EXPECT_THAT(config_error(config),
              HasSubstr("field 'rope_scaling.long_factor': must be an array of 4 numbers"));
}

TEST(HubConfig, NamesTheFieldItRefuses) {
  EXPECT_THAT(config_error_with(base(), "rope_scaling", {{"type", "dynamic"}, {"factor", 2}}),
              HasSubstr("field 'rope_scaling.type': \"dynamic\" is not supported"));
  EXPECT_THAT(config_error_with(base(), "rope_scaling", {{"type", "linear"}}),
              HasSubstr("field 'rope_scaling.factor': is missing"));
  EXPECT_THAT(config_error_with(base(), "rope_scaling", {{"type", "linear"}, {"factor", "x"}}),
              HasSubstr("field 'rope_scaling.factor': must be a number, is \"x\""));
  EXPECT_THAT(config_error_with(base(), "rope_scaling", 1),
              HasSubstr("'rope_scaling': must be an object"));
  EXPECT_THAT(config_error_with(base(), "hidden_act", "relu"),
              HasSubstr("field 'hidden_act': \"relu\""));
  EXPECT_THAT(config_error_with(base(), "quantization_config", {{"bits", 4}}),
              HasSubstr("field 'quantization_config.quant_method': nothing is not read"));
  EXPECT_THAT(config_error_with(base("Qwen3MoeForCausalLM"), "mlp_only_layers", {0}),
              HasSubstr("field 'mlp_only_layers'"));
  EXPECT_THAT(config_error_with(base("Qwen3MoeForCausalLM"), "decoder_sparse_step", 2),
              HasSubstr("field 'decoder_sparse_step'"));
  EXPECT_THAT(config_error_with(base("Gemma3ForCausalLM"), "use_bidirectional_attention", true),
              HasSubstr("only causal models"));
  EXPECT_THAT(config_error_with(base(), "partial_rotary_factor", 0),
              HasSubstr("must be in (0, 1]"));
  EXPECT_THAT(config_error(json::array()), HasSubstr("m/config.json: is not a JSON object"));
}

}  // namespace
}  // namespace tandem::model
