// SPDX-License-Identifier: Apache-2.0
//
// Both forms become a list of fields, which one table reads.
#include "training/trainer/decoder_config.h"

#include <toml++/toml.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <variant>

#include "common/error.h"
#include "common/suggestion.h"

namespace tandem::training {
namespace {

using Value = std::variant<std::int64_t, double, bool, std::string>;
using Fields = std::map<std::string, Value>;

constexpr int kMostWidth = 1 << 20;

class Reader {
 public:
  Reader(std::string path, Fields fields) : path_(std::move(path)), fields_(std::move(fields)) {}

  [[noreturn]] void fail(const std::string& field, const std::string& what) const {
    throw Error("train", path_ + ": field '" + field + "': " + what);
  }
  void take(const char* name, int& to, bool required) {
    if (const Value* value = find(name)) {
      const auto* number = std::get_if<std::int64_t>(value);
      if (number == nullptr || *number < 1 || *number > kMostWidth) {
        fail(name, "must be a whole number from 1 to " + std::to_string(kMostWidth));
      }
      to = static_cast<int>(*number);
    } else if (required) {
      fail(name, "is missing");
    }
  }
  void take(const char* name, double& to) {
    const Value* value = find(name);
    if (value == nullptr) return;
    if (const auto* number = std::get_if<double>(value))
      to = *number;
    else if (const auto* whole = std::get_if<std::int64_t>(value))
      to = static_cast<double>(*whole);
    else
      fail(name, "must be a number");
    if (!(to > 0)) fail(name, "must be greater than 0");
  }
  void take(const char* name, bool& to) {
    const Value* value = find(name);
    if (value == nullptr) return;
    if (const auto* flag = std::get_if<bool>(value))
      to = *flag;
    else
      fail(name, "must be true or false");
  }
  void take(const char* name, std::string& to) {
    const Value* value = find(name);
    if (value == nullptr) return;
    if (const auto* text = std::get_if<std::string>(value))
      to = *text;
    else
      fail(name, "must be a text");
  }
  // A field that nothing has taken is a mistake.
  void refuse_others() const {
    for (const auto& [name, value] : fields_) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
        fail(name, "is unknown" + suggestion(name, known_));
      }
    }
  }

 private:
  const Value* find(const char* name) {
    known_.emplace_back(name);
    const auto found = fields_.find(name);
    return found == fields_.end() ? nullptr : &found->second;
  }

  std::string path_;
  Fields fields_;
  std::vector<std::string_view> known_;
};

Fields fields_of(const toml::table& table, const std::string& path) {
  Fields fields;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (const auto* number = node.as_integer())
      fields[name] = number->get();
    else if (const auto* real = node.as_floating_point())
      fields[name] = real->get();
    else if (const auto* flag = node.as_boolean())
      fields[name] = flag->get();
    else if (const auto* text = node.as_string())
      fields[name] = text->get();
    else if (name == "model" && node.is_table())
      return fields_of(*node.as_table(), path);
    else
      throw Error("train", path + ": field '" + name + "': must be a number, text or boolean");
  }
  return fields;
}

Fields fields_of(const nlohmann::json& object) {
  Fields fields;
  for (const auto& [name, value] : object.items()) {
    if (value.is_number_integer())
      fields[name] = value.get<std::int64_t>();
    else if (value.is_number())
      fields[name] = value.get<double>();
    else if (value.is_boolean())
      fields[name] = value.get<bool>();
    else if (value.is_string())
      fields[name] = value.get<std::string>();
    else if (name == "rope_scaling" && !value.is_null())
      fields[name] = std::string("scaled");
  }
  return fields;
}

DecoderConfig of_toml(Reader& reader) {
  DecoderConfig config;
  std::string family = "llama";
  reader.take("family", family);
  if (family != "llama") reader.fail("family", "is '" + family + "'; decoders are llama");
  reader.take("name", config.name);
  reader.take("layers", config.layers, true);
  reader.take("width", config.width, true);
  reader.take("heads", config.heads, true);
  reader.take("kv_heads", config.kv_heads, false);
  reader.take("head_dim", config.head_dim, false);
  reader.take("ffn", config.ffn, true);
  reader.take("context", config.context, true);
  reader.take("rope_base", config.rope_base);
  reader.take("norm_epsilon", config.norm_epsilon);
  reader.take("tied", config.tied);
  reader.take("tokenizer", config.tokenizer);
  reader.refuse_others();
  return config;
}

DecoderConfig of_hub(Reader& reader) {
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

void check(DecoderConfig& config, const Reader& reader) {
  if (config.kv_heads == 0) config.kv_heads = config.heads;
  if (config.heads % config.kv_heads != 0) {
    reader.fail("kv_heads", std::to_string(config.kv_heads) + " do not divide the " +
                                std::to_string(config.heads) + " heads");
  }
  if (config.head_dim == 0 && config.width % config.heads != 0) {
    reader.fail("heads", "do not divide the width; give head_dim");
  }
  if (config.head_dim == 0) config.head_dim = config.width / config.heads;
  if (config.head_dim % 2 != 0) reader.fail("head_dim", "must be even, for the rotation");
}

}  // namespace

DecoderConfig read_decoder_config(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error("train", "cannot read the model's configuration '" + path + "'");
  const bool hub = path.ends_with(".json");
  Fields fields;
  try {
    fields =
        hub ? fields_of(nlohmann::json::parse(file)) : fields_of(toml::parse(file, path), path);
  } catch (const toml::parse_error& error) {
    throw Error("train", path + ":" + std::to_string(error.source().begin.line) + ": " +
                             std::string(error.description()));
  } catch (const nlohmann::json::exception& error) {
    throw Error("train", path + ": " + error.what());
  }
  Reader reader(path, std::move(fields));
  DecoderConfig config = hub ? of_hub(reader) : of_toml(reader);
  check(config, reader);
  const std::filesystem::path tokenizer(config.tokenizer);
  if (config.tokenizer != "bytes" && tokenizer.is_relative()) {
    config.tokenizer = (std::filesystem::path(path).parent_path() / tokenizer).string();
  }
  return config;
}

}  // namespace tandem::training
