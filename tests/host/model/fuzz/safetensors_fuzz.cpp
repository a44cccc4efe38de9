// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: a published directory from hostile bytes. Any outcome but an Error or a model whose
// every tensor can be read is a finding.
//
// Input: the lengths of config.json and of an index in four bytes each (no index: 0), the two
// texts, and a safetensors file that stands for every shard; or 0xff 0xff and a file alone.
#include <cstring>

#include "common/error.h"
#include "model/families/family.h"
#include "model/loader/safetensors/safetensors_checkpoint.h"
#include "support/f8_hub_model.h"
#include "support/fuzz_main.h"
#include "support/safetensors_writer.h"

namespace tandem::test {
namespace {

std::string directory(const nlohmann::json& config, const std::string& index,
                      const std::string& file) {
  const std::string text = config.dump();
  const auto size = static_cast<std::uint32_t>(text.size()),
             index_size = static_cast<std::uint32_t>(index.size());
  std::string out(8, '\0');
  std::memcpy(out.data(), &size, 4);
  std::memcpy(out.data() + 4, &index_size, 4);
  return out + text + index + file;
}

void add_families(std::vector<std::string>& seeds) {
  for (const char* name : {"Gemma3ForCausalLM", "Gemma2ForCausalLM", "Phi3ForCausalLM",
                           "Qwen3MoeForCausalLM", "MixtralForCausalLM", "Qwen2ForCausalLM"}) {
    nlohmann::json other = hub_config({.ties_embeddings = true});
    other["architectures"] = {name};
    other["sliding_window"] = 4;
    other["use_sliding_window"] = true;
    other["layer_types"] = {"full_attention", "sliding_attention"};
    other["num_local_experts"] = 2;
    other["num_experts_per_tok"] = 1;
    other["moe_intermediate_size"] = 8;
    other["head_dim"] = 8;
    other["rope_scaling"] = {
        {"type", "longrope"}, {"short_factor", {1, 1, 1, 1}}, {"long_factor", {2, 2, 2, 2}}};
    if (name[0] == 'G') other["hidden_act"] = "gelu_pytorch_tanh";
    if (name[0] != 'P') other["rope_scaling"] = nullptr;
    SafetensorsWriter writer;
    writer.add("model.embed_tokens.weight", {64, 1}, std::vector<float>(64), DType::kF16);
    writer.add("model.layers.0.input_layernorm.weight", {1}, {1});
    writer.add("model.layers.0.block_sparse_moe.experts.0.w1.weight", {1, 1}, {1});
    seeds.push_back(directory(other, "", writer.bytes()));
  }
}

void add_f8_layouts(std::vector<std::string>& seeds) {
  const HubModel shape{
      .num_layers = 1, .width = 16, .q_heads = 2, .kv_heads = 1, .ffn_width = 24, .vocab_size = 4};
  for (const F8Layout layout :
       {F8Layout::kMatrix, F8Layout::kRow, F8Layout::kFbgemm, F8Layout::kBlock}) {
    const F8HubModel model = f8_hub_model(shape, layout, 3, 16);
    seeds.push_back(directory(model.config, "", model.f8.bytes()));
  }
}

}  // namespace

void add_fuzz_seeds(std::vector<std::string>& seeds) {
  const HubModel shape{
      .num_layers = 1, .width = 8, .q_heads = 2, .kv_heads = 1, .ffn_width = 8, .vocab_size = 4};
  nlohmann::json config = hub_config(shape);
  const std::string weights = hub_weights(shape, DType::kBF16, 1).bytes();
  seeds.push_back(directory(config, "", weights));
  seeds.push_back(directory(
      config,
      R"({"weight_map":{"model.norm.weight":"a.safetensors","lm_head.weight":"b.safetensors"}})",
      weights));
  config["rope_scaling"] = {{"rope_type", "llama3"},
                            {"factor", 8.0},
                            {"low_freq_factor", 1.0},
                            {"high_freq_factor", 4.0},
                            {"original_max_position_embeddings", 64}};
  seeds.push_back(directory(config, "", weights));
  config["rope_scaling"] = {{"type", "yarn"}, {"factor", 2.0}, {"attention_factor", 1.5}};
  seeds.push_back(directory(config, "", weights));
  add_families(seeds);
  add_f8_layouts(seeds);
  SafetensorsWriter small;
  small.add("a", {2, 2}, {1, 2, 3, 4});
  small.add("b", {3}, {1, 2, 3}, DType::kF16);
  seeds.push_back("\xff\xff" + small.bytes());
}

}  // namespace tandem::test

namespace {

using namespace tandem::model;

volatile unsigned g_sum = 0;  // keeps reads of tensor data from being optimised away

void read_all(const std::byte* data, std::size_t size) {
  for (std::size_t at = 0; at < size; ++at) g_sum = g_sum + static_cast<unsigned>(data[at]);
}

void read_rows(const tandem::TensorView& view) {
  std::vector<float> row(static_cast<std::size_t>(view.columns));
  for (std::int64_t index = 0; index < view.rows; ++index) {
    tandem::dequantize_row(view, index, row.data());
    g_sum = g_sum + static_cast<unsigned>(row[0] > 0);
  }
}

void read_file(std::span<const std::byte> bytes) {
  const SafetensorsFile file(bytes, "fuzz.safetensors");
  for (const SafetensorsTensor& tensor : file.tensors()) read_all(tensor.data, tensor.size_bytes);
}

void read_directory(std::string_view input) {
  std::uint32_t sizes[2];
  if (input.size() < sizeof sizes) return;
  std::memcpy(sizes, input.data(), sizeof sizes);
  input.remove_prefix(sizeof sizes);
  if (std::uint64_t{sizes[0]} + sizes[1] > input.size()) return;
  SafetensorsParts parts;
  parts.directory = "fuzz";
  parts.config = read_hub_config(input.substr(0, sizes[0]), "fuzz/config.json");
  if (sizes[1] > 0) parts.map = read_weight_map(input.substr(sizes[0], sizes[1]), "fuzz/index");
  const auto bytes = std::as_bytes(std::span(input.substr(sizes[0] + sizes[1])));
  const std::size_t num_shards = parts.map ? parts.map->shards.size() : 1;
  for (std::size_t shard = 0; shard < num_shards; ++shard)
    parts.shards.emplace_back(bytes, "shard");
  const SafetensorsCheckpoint checkpoint(std::move(parts));
  checkpoint.for_each_tensor([&](const CheckpointTensor& tensor) {
    read_all(tensor.data, tensor.size_bytes);
    if (tensor.scales) read_rows(checkpoint.view(tensor));
  });
  const CheckpointTensor* embedding = checkpoint.find_tensor("token_embd.weight");
  if (embedding == nullptr) return;
  const auto rows = checkpoint.view(*embedding).rows;
  if (rows > INT32_MAX) return;
  const FamilyWeights weights = read_family(checkpoint, static_cast<int>(rows));
  for (const LayerTensors& layer : weights.layers) {
    if (layer.down) read_all(layer.down.data, layer.down.size_bytes());
    if (layer.wk.scales) read_rows(layer.wk);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    if (input.starts_with("\xff\xff")) {
      read_file(std::as_bytes(std::span(input.substr(2))));
    } else {
      read_directory(input);
    }
  } catch (const tandem::Error&) {
  }
  return 0;
}
