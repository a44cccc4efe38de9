// SPDX-License-Identifier: Apache-2.0
//
// Both forms of a file become one map of fields.
#include "training/trainer/config_fields.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/error.h"
#include "common/suggestion.h"
#include "training/trainer/input_file.h"

namespace tandem::training {
namespace {

using Value = FieldReader::Value;
using Fields = FieldReader::Fields;

std::optional<Value> list_of(const toml::array& array) {
  std::vector<std::int64_t> numbers;
  for (const toml::node& node : array) {
    const auto* number = node.as_integer();
    if (number == nullptr) return {};
    numbers.push_back(number->get());
  }
  return numbers;
}

std::optional<Value> value_of(const toml::node& node) {
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* array = node.as_array()) return list_of(*array);
  return {};
}

// The fields lie in the table [model], where there is one; then nothing else is in the file.
const toml::table& table_of_fields(const toml::table& file, const std::string& path) {
  const toml::node* model = file.get("model");
  if (model == nullptr || !model->is_table()) return file;
  std::string others;
  for (const auto& [key, node] : file) {
    if (&node == model) continue;
    others += (others.empty() ? "" : ", ") + std::string(key.str());
  }
  if (others.empty()) return *model->as_table();
  throw Error("train", path + ": beside the table [model] there is " + others +
                           "; all fields belong into that table");
}

Fields fields_of(const toml::table& table, const std::string& path) {
  Fields fields;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const std::optional<Value> value = value_of(node);
    if (!value) {
      throw Error("train", path + ": field '" + name +
                               "': must be a number, text, boolean or list of whole numbers");
    }
    fields[name] = *value;
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

}  // namespace

void FieldReader::fail(const std::string& field, const std::string& what) const {
  throw Error("train", path_ + ": field '" + field + "': " + what);
}

const Value* FieldReader::find(const char* name) {
  known_.emplace_back(name);
  const auto found = fields_.find(name);
  return found == fields_.end() ? nullptr : &found->second;
}

void FieldReader::take(const char* name, int& to, bool required, int most) {
  const Value* value = find(name);
  if (value == nullptr) {
    if (required) fail(name, "is missing");
    return;
  }
  const auto* number = std::get_if<std::int64_t>(value);
  if (number == nullptr || *number < 1 || *number > most) {
    fail(name, "must be a whole number from 1 to " + std::to_string(most));
  }
  to = static_cast<int>(*number);
}

void FieldReader::take(const char* name, double& to) {
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

void FieldReader::take(const char* name, bool& to) {
  const Value* value = find(name);
  if (value == nullptr) return;
  const auto* flag = std::get_if<bool>(value);
  if (flag == nullptr) fail(name, "must be true or false");
  to = *flag;
}

void FieldReader::take(const char* name, std::string& to) {
  const Value* value = find(name);
  if (value == nullptr) return;
  const auto* text = std::get_if<std::string>(value);
  if (text == nullptr) fail(name, "must be a text");
  to = *text;
}

void FieldReader::take(const char* name, std::vector<int>& to, int most) {
  const Value* value = find(name);
  if (value == nullptr) return;
  std::vector<std::int64_t> numbers;
  if (const auto* one = std::get_if<std::int64_t>(value)) numbers = {*one};
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(value)) numbers = *list;
  const auto fits = [&](std::int64_t number) { return number >= 1 && number <= most; };
  if (numbers.empty() || !std::ranges::all_of(numbers, fits)) {
    fail(name, "must be whole numbers from 1 to " + std::to_string(most));
  }
  to.assign(numbers.begin(), numbers.end());
}

void FieldReader::refuse_others() const {
  for (const auto& [name, value] : fields_) {
    if (std::ranges::find(known_, name) == known_.end()) {
      fail(name, "is unknown" + suggestion(name, known_));
    }
  }
}

FieldReader read_fields(const std::string& path) {
  require_file(path, "a model's configuration: TOML, or a published config.json");
  std::ifstream file(path);
  if (!file) throw Error("train", "cannot read the model's configuration '" + path + "'");
  try {
    if (path.ends_with(".json")) return {path, fields_of(nlohmann::json::parse(file))};
    const toml::table table = toml::parse(file, path);
    return {path, fields_of(table_of_fields(table, path), path)};
  } catch (const toml::parse_error& error) {
    throw Error("train", path + ":" + std::to_string(error.source().begin.line) + ": " +
                             std::string(error.description()));
  } catch (const nlohmann::json::exception& error) {
    throw Error("train", path + ": " + error.what());
  }
}

std::string beside(const std::string& file, const std::string& tokenizer) {
  const std::filesystem::path path(tokenizer);
  if (tokenizer == "bytes" || path.is_absolute()) return tokenizer;
  return (std::filesystem::path(file).parent_path() / path).string();
}

std::string model_kind(const std::string& path) {
  if (path.ends_with(".json")) return "llama";  // a published configuration
  FieldReader reader = read_fields(path);
  std::string kind = "llama";
  reader.take("kind", kind);
  if (kind != "llama" && kind != "lstm" && kind != "recommender") {
    reader.fail("kind", "is '" + kind + "'; choose llama, lstm or recommender");
  }
  return kind;
}

}  // namespace tandem::training
