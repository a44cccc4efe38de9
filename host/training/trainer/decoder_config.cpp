// SPDX-License-Identifier: Apache-2.0
//
// Both forms become a list of fields, which one table reads.
#include "training/trainer/decoder_config.h"

#include <string>

#include "training/trainer/config_fields.h"

namespace tandem::training {
namespace {

constexpr int kMostExperts = 1024;

DecoderConfig of_toml(FieldReader& reader) {
  DecoderConfig config;
  std::string family = "llama", kind;
  reader.take("kind", kind);  // which has led here
  reader.take("family", family);
  if (family != "llama") reader.fail("family", "is '" + family + "'; decoders are llama");
  reader.take("name", config.name);
  reader.take("description", config.description);
  reader.take("license", config.license);
  reader.take("layers", config.layers, true);
  reader.take("width", config.width, true);
  reader.take("heads", config.heads, true);
  reader.take("kv_heads", config.kv_heads, false);
  reader.take("head_dim", config.head_dim, false);
  reader.take("ffn", config.ffn, true);
  reader.take("experts", config.experts, false, kMostExperts);
  reader.take("experts_used", config.experts_used, false, kMostExperts);
  reader.take("context", config.context, true);
  reader.take("rope_base", config.rope_base);
  reader.take("norm_epsilon", config.norm_epsilon);
  reader.take("tied", config.tied);
  reader.take("tokenizer", config.tokenizer);
  reader.refuse_others();
  return config;
}

DecoderConfig of_hub(FieldReader& reader) {
  DecoderConfig config;
  std::string family;
  reader.take("model_type", family);
  if (family != "llama") reader.fail("model_type", "is '" + family + "'; llama is trained");
  std::string scaling;
  reader.take("rope_scaling", scaling);
  if (!scaling.empty()) reader.fail("rope_scaling", "is not supported from scratch");
  config.tied = false;
  config.norm_epsilon = 1e-6;
  reader.take("num_hidden_layers", config.layers, true);
  reader.take("hidden_size", config.width, true);
  reader.take("num_attention_heads", config.heads, true);
  reader.take("num_key_value_heads", config.kv_heads, false);
  reader.take("head_dim", config.head_dim, false);
  reader.take("intermediate_size", config.ffn, true);
  reader.take("max_position_embeddings", config.context, true);
  reader.take("rope_theta", config.rope_base);
  reader.take("rms_norm_eps", config.norm_epsilon);
  reader.take("tie_word_embeddings", config.tied);
  return config;
}

void check(DecoderConfig& config, const FieldReader& reader) {
  if (config.kv_heads == 0) config.kv_heads = config.heads;
  if (config.heads % config.kv_heads != 0) {
    reader.fail("kv_heads", std::to_string(config.kv_heads) + " do not divide the " +
                                std::to_string(config.heads) + " heads");
  }
  if (config.experts > 0 && config.experts_used > config.experts) {
    reader.fail("experts_used", std::to_string(config.experts_used) + " of " +
                                    std::to_string(config.experts) + " experts");
  }
  if (config.head_dim == 0 && config.width % config.heads != 0) {
    reader.fail("heads", "do not divide the width; give head_dim");
  }
  if (config.head_dim == 0) config.head_dim = config.width / config.heads;
  if (config.head_dim % 2 != 0) reader.fail("head_dim", "must be even, for the rotation");
}

}  // namespace

DecoderConfig read_decoder_config(const std::string& path) {
  FieldReader reader = read_fields(path);
  DecoderConfig config = path.ends_with(".json") ? of_hub(reader) : of_toml(reader);
  check(config, reader);
  config.tokenizer = beside(path, config.tokenizer);
  return config;
}

}  // namespace tandem::training
