// SPDX-License-Identifier: Apache-2.0
//
// Skeletons are written by GgufWriter and read back by the model loader's own functions, so that a
// size means the same here and in `tandem serve`.
#include "training/trainer/decoder_model.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>

#include "common/error.h"
#include "model/families/decoder.h"
#include "model/loader/gguf/gguf_file.h"
#include "model/loader/gguf/gguf_writer.h"
#include "model/loader/safetensors/safetensors_checkpoint.h"
#include "model/tokenizer/read_tokenizer.h"
#include "tensor/tensor_view.h"
#include "training/trainer/byte_vocabulary.h"
#include "training/trainer/decoder_config.h"

namespace tandem::training {
namespace {

using model::CheckpointTensor;
using model::GgufFile;
using model::GgufWriter;

constexpr const char* kFactors = "rope_freqs.weight";

// A property of the written file, not of the model.
bool is_of_layout(std::string_view key) {
  return key == "general.alignment" || key == "general.file_type" ||
         key == "general.quantization_version";
}

void copy_fields(const GgufFile& from, std::string_view prefix, GgufWriter& to) {
  for (const GgufFile::RawField& field : from.raw_fields()) {
    if (is_of_layout(field.key) || !field.key.starts_with(prefix)) continue;
    to.set_raw(field.key, static_cast<std::uint32_t>(field.type), field.payload);
  }
}

void copy_factors(const model::Checkpoint& from, GgufWriter& to) {
  const CheckpointTensor* factors = from.find_tensor(kFactors);
  if (factors == nullptr) return;
  std::vector<float> values(factors->dims[0]);
  dequantize_row(factors->dtype, factors->data, values.data(), values.size());
  to.add_tensor(kFactors, {values.size()}, values);
}

void set_sizes(const DecoderConfig& config, GgufWriter& to) {
  const auto u32 = [&](const char* key, int value) {
    to.set_u32(std::string("llama.") + key, static_cast<std::uint32_t>(value));
  };
  to.set_string("general.architecture", "llama");
  to.set_string("general.name", config.name);
  if (!config.description.empty()) to.set_string("general.description", config.description);
  if (!config.license.empty()) to.set_string("general.license", config.license);
  u32("block_count", config.layers);
  u32("embedding_length", config.width);
  u32("context_length", config.context);
  u32("feed_forward_length", config.ffn);
  u32("attention.head_count", config.heads);
  u32("attention.head_count_kv", config.kv_heads);
  u32("attention.key_length", config.head_dim);
  u32("attention.value_length", config.head_dim);
  u32("rope.dimension_count", config.head_dim);
  if (config.experts > 0) {
    u32("expert_count", config.experts);
    u32("expert_used_count", config.experts_used);
  }
  to.set_f32("llama.rope.freq_base", static_cast<float>(config.rope_base));
  to.set_f32("llama.attention.layer_norm_rms_epsilon", static_cast<float>(config.norm_epsilon));
}

// Numbers and texts that a published directory's model has under GGUF's names.
void copy_known_fields(const model::Checkpoint& from, GgufWriter& to) {
  const std::string prefix = "llama.";
  for (const char* key :
       {"block_count", "embedding_length", "context_length", "feed_forward_length",
        "attention.head_count", "attention.head_count_kv", "attention.key_length",
        "attention.value_length", "rope.dimension_count", "rope.scaling.original_context_length"}) {
    if (const auto value = from.get_uniform_u32(prefix + key)) to.set_u32(prefix + key, *value);
  }
  for (const char* key :
       {"rope.freq_base", "attention.layer_norm_rms_epsilon", "rope.scaling.factor",
        "rope.scaling.attn_factor", "rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow"}) {
    if (const auto value = from.get_f32(prefix + key)) to.set_f32(prefix + key, *value);
  }
  const std::string type = prefix + "rope.scaling.type";
  if (const auto value = from.get_string(type)) to.set_string(type, *value);
}

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Error("train", "'" + path + "' " + what +
                           ", and only plain Llama decoders are trained; name another by --from");
}

void check_architecture(std::string_view name, const std::string& path) {
  if (name != "llama") refuse(path, "is of the architecture " + std::string(name));
}

void check_family(const model::Model& loaded, const std::string& path) {
  const model::ModelConfig& config = loaded.config();
  check_architecture(config.architecture, path);
  if (config.experts.count > 0) refuse(path, "is a mixture of experts");
  if (!config.windows.empty()) refuse(path, "has sliding windows");
  const model::LayerTensors& layer = loaded.layers().front();
  if (layer.bq || layer.bk || layer.bv || layer.bo) refuse(path, "has biases of the attention");
}

std::string block(int layer, const char* name) {
  return "blk." + std::to_string(layer) + "." + name + ".weight";
}

// Rows of every head from pairs (i, i + n/2) to pairs (2i, 2i + 1); rows beyond the rotation stay.
std::int64_t source_row(std::int64_t row, const model::ModelConfig& config) {
  const std::int64_t rotated =
      2 * static_cast<std::int64_t>(config.rope.inverse_frequencies.size());
  const std::int64_t head = row / config.head_dim, at = row % config.head_dim;
  if (at >= rotated) return row;
  return head * config.head_dim + at / 2 + (at % 2) * (rotated / 2);
}

void read_rows(const TensorView& view, std::span<float> values,
               const model::ModelConfig* reordered) {
  for (std::int64_t row = 0; row < view.rows; ++row) {
    const std::int64_t from = reordered == nullptr ? row : source_row(row, *reordered);
    dequantize_row(view, from, values.data() + row * view.columns);
  }
}

std::vector<ParameterSpec> specs_of(const model::ModelConfig& config, bool tied) {
  const std::int64_t width = config.width, ffn = config.ffn_width, vocab = config.vocab_size;
  const std::int64_t q_width = config.q_heads * config.head_dim;
  const std::int64_t kv_width = config.kv_heads * config.head_dim;
  std::vector<ParameterSpec> specs;
  const auto matrix = [&](const std::string& name, std::int64_t rows, std::int64_t columns,
                          double deviation) {
    specs.push_back({name, {rows, columns}, static_cast<float>(deviation), 0});
  };
  const auto norm = [&](const std::string& name) { specs.push_back({name, {width}, 0, 1}); };
  const std::int64_t experts = config.experts.count;
  const auto of_experts = [&](const std::string& name, std::int64_t rows, std::int64_t columns,
                              double deviation) {
    if (experts == 0) return matrix(name, rows, columns, deviation);
    const std::string stacked = name.substr(0, name.rfind(".weight")) + "_exps.weight";
    specs.push_back({stacked, {experts, rows, columns}, static_cast<float>(deviation), 0});
  };
  const double in = 0.64 / std::sqrt(static_cast<double>(width));
  const double out = 0.02 / std::sqrt(2.0 * config.num_layers);
  matrix("token_embd.weight", vocab, width, 0.02);
  for (int layer = 0; layer < config.num_layers; ++layer) {
    norm(block(layer, "attn_norm"));
    matrix(block(layer, "attn_q"), q_width, width, in);
    matrix(block(layer, "attn_k"), kv_width, width, in);
    matrix(block(layer, "attn_v"), kv_width, width, in);
    matrix(block(layer, "attn_output"), width, q_width, out);
    norm(block(layer, "ffn_norm"));
    if (experts > 0) matrix(block(layer, "ffn_gate_inp"), experts, width, in);
    of_experts(block(layer, "ffn_gate"), ffn, width, in);
    of_experts(block(layer, "ffn_up"), ffn, width, in);
    of_experts(block(layer, "ffn_down"), width, ffn, out);
  }
  norm("output_norm.weight");
  if (!tied) matrix("output.weight", vocab, width, 0.02);
  return specs;
}

}  // namespace

void set_tokenizer(const std::string& tokenizer, GgufWriter& to) {
  if (tokenizer == "bytes") return set_byte_vocabulary(to);
  copy_fields(GgufFile(tokenizer), "tokenizer.", to);
}

DecoderModel decoder_of_skeleton(std::string skeleton, bool tied) {
  DecoderModel result;
  result.skeleton = std::move(skeleton);
  result.tied = tied;
  const GgufFile file(std::as_bytes(std::span(result.skeleton)), "the model's description");
  result.tokenizer = model::read_tokenizer(file);
  model::CheckpointReader reader(file);
  result.config = model::read_sizes(reader, result.tokenizer->vocab_size());
  result.config.ffn_width = reader.positive("feed_forward_length");
  if (file.get_u32(reader.key("expert_count")).value_or(0) > 0) {
    result.config.experts = model::read_experts(reader, result.config.ffn_width, true);
  }
  result.config.rope = model::read_ordered_rope(reader, result.config);
  return result;
}

DecoderModel read_decoder(const std::string& path, const std::string& tokenizer) {
  const auto loaded = model::load_model(path);
  check_family(*loaded, path);
  const bool tied = loaded->output().data == loaded->embedding().data;
  GgufWriter skeleton;
  if (!std::filesystem::is_directory(path)) {
    const GgufFile file(path);
    copy_fields(file, "", skeleton);
    copy_factors(file, skeleton);
    return decoder_of_skeleton(skeleton.bytes(), tied);
  }
  if (tokenizer.empty()) {
    throw Error("train", "'" + path +
                             "' is a directory; name a GGUF file with its tokenizer by "
                             "--tokenizer, which the exported model gets");
  }
  const model::SafetensorsCheckpoint checkpoint(path);
  skeleton.set_string("general.architecture", "llama");
  skeleton.set_string("general.name", std::filesystem::path(path).filename().string());
  copy_known_fields(checkpoint, skeleton);
  copy_factors(checkpoint, skeleton);
  set_tokenizer(tokenizer, skeleton);
  DecoderModel result = decoder_of_skeleton(skeleton.bytes(), tied);
  if (result.config.vocab_size != loaded->config().vocab_size) {
    throw Error("train", "'" + tokenizer + "' has " + std::to_string(result.config.vocab_size) +
                             " tokens, '" + path + "' " +
                             std::to_string(loaded->config().vocab_size) +
                             "; name the model's own tokenizer by --tokenizer");
  }
  return result;
}

std::vector<ParameterSpec> read_decoder_parameters(const std::string& path) {
  std::unique_ptr<model::Checkpoint> file;
  if (std::filesystem::is_directory(path)) {
    file = std::make_unique<model::SafetensorsCheckpoint>(path);
  } else {
    file = std::make_unique<GgufFile>(path);
  }
  check_architecture(file->require_string("general.architecture"), path);
  const CheckpointTensor* embedding = file->find_tensor("token_embd.weight");
  if (embedding == nullptr) throw file->missing_tensor_error("token_embd.weight");
  model::CheckpointReader reader(*file);
  model::ModelConfig config = model::read_sizes(reader, static_cast<int>(embedding->dims[1]));
  config.ffn_width = reader.positive("feed_forward_length");
  return specs_of(config, file->find_tensor("output.weight") == nullptr);
}

void read_decoder_values(const std::string& path, ParameterSet& parameters) {
  const auto loaded = model::load_model(path);
  const model::ModelConfig& config = loaded->config();
  const model::ModelConfig* reordered = config.rope.interleaved ? nullptr : &config;
  const auto read = [&](const std::string& name, const TensorView& view,
                        const model::ModelConfig* order = nullptr) {
    read_rows(view, parameters.values(parameters.find(name)), order);
  };
  read("token_embd.weight", loaded->embedding());
  for (int layer = 0; layer < config.num_layers; ++layer) {
    const model::LayerTensors& tensors = loaded->layers()[static_cast<std::size_t>(layer)];
    read(block(layer, "attn_norm"), tensors.attention_norm);
    read(block(layer, "attn_q"), tensors.wq, reordered);
    read(block(layer, "attn_k"), tensors.wk, reordered);
    read(block(layer, "attn_v"), tensors.wv);
    read(block(layer, "attn_output"), tensors.wo);
    read(block(layer, "ffn_norm"), tensors.ffn_norm);
    read(block(layer, "ffn_gate"), tensors.gate);
    read(block(layer, "ffn_up"), tensors.up);
    read(block(layer, "ffn_down"), tensors.down);
  }
  read("output_norm.weight", loaded->output_norm());
  if (loaded->output().data != loaded->embedding().data) read("output.weight", loaded->output());
}

DecoderModel make_decoder(const std::string& file, const std::string& tokenizer) {
  const DecoderConfig config = read_decoder_config(file);
  GgufWriter skeleton;
  set_sizes(config, skeleton);
  set_tokenizer(tokenizer.empty() ? config.tokenizer : tokenizer, skeleton);
  return decoder_of_skeleton(skeleton.bytes(), config.tied);
}

std::vector<ParameterSpec> decoder_parameters(const DecoderModel& model) {
  return specs_of(model.config, model.tied);
}

void check_context(const DecoderModel& model, int context) {
  if (context <= model.config.context_length) return;
  throw Error("train", "--context " + std::to_string(context) + " exceeds the model's " +
                           std::to_string(model.config.context_length) +
                           "; give at most as many tokens");
}

DecoderSizes decoder_sizes(const DecoderModel& model, int context) {
  const model::ModelConfig& config = model.config;
  DecoderSizes sizes;
  sizes.num_layers = config.num_layers;
  sizes.width = config.width;
  sizes.q_heads = config.q_heads;
  sizes.kv_heads = config.kv_heads;
  sizes.head_dim = config.head_dim;
  sizes.ffn_width = config.ffn_width;
  sizes.vocab_size = config.vocab_size;
  sizes.context = context;
  sizes.norm_epsilon = config.norm_epsilon;
  sizes.attention_scale = config.attention_scale;
  sizes.inverse_frequencies = config.rope.inverse_frequencies.data();
  sizes.num_frequencies = static_cast<int>(config.rope.inverse_frequencies.size());
  sizes.rope_magnitude = config.rope.magnitude;
  sizes.experts = config.experts.count;
  sizes.experts_used = config.experts.used;
  return sizes;
}

}  // namespace tandem::training
