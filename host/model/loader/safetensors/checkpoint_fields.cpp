// SPDX-License-Identifier: Apache-2.0
//
// SafetensorsCheckpoint: typed access to the fields of config.json.
#include <cmath>
#include <limits>
#include <optional>

#include "model/loader/bounded_json.h"
#include "model/loader/safetensors/safetensors_checkpoint.h"

namespace tandem::model {

using nlohmann::json;

namespace {

// None if it is no number or not in the range of f32: the cast would be undefined.
std::optional<float> float_of(const json& value) {
  if (!value.is_number()) return {};
  const auto wide = value.get<double>();
  if (!(std::abs(wide) <= std::numeric_limits<float>::max())) return {};
  return static_cast<float>(wide);
}

}  // namespace

const json* SafetensorsCheckpoint::find(std::string_view key) const {
  const auto found = config_.values.find(std::string(key));
  return found == config_.values.end() ? nullptr : &found->second;
}

Error SafetensorsCheckpoint::field_error(std::string_view key, const std::string& what) const {
  return config_.field_error(key, what);
}

std::optional<std::uint32_t> SafetensorsCheckpoint::get_u32(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  // A class's default is held signed, a number of the file unsigned.
  const std::int64_t number = value->is_number_integer() ? value->get<std::int64_t>() : -1;
  if (number < 0 || number > std::numeric_limits<std::uint32_t>::max()) {
    throw field_error(key, "must be an integer in 0..4294967295, is " + printable_json(*value));
  }
  return static_cast<std::uint32_t>(number);
}

std::optional<float> SafetensorsCheckpoint::get_f32(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  const auto number = float_of(*value);
  if (!number) {
    throw field_error(key, "must be a number of 32 bits, is " + printable_json(*value));
  }
  return number;
}

std::optional<bool> SafetensorsCheckpoint::get_bool(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_boolean()) {
    throw field_error(key, "must be true or false, is " + printable_json(*value));
  }
  return value->get<bool>();
}

std::optional<std::string_view> SafetensorsCheckpoint::get_string(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_string()) {
    throw field_error(key, "must be a string, is " + printable_json(*value));
  }
  return value->get_ref<const std::string&>();
}

std::optional<std::vector<float>> SafetensorsCheckpoint::get_f32s(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) throw field_error(key, "must be an array of numbers");
  std::vector<float> values;
  for (const json& one : *value) {
    const auto number = float_of(one);
    if (!number) throw field_error(key, "must be an array of numbers of 32 bits");
    values.push_back(*number);
  }
  return values;
}

std::optional<std::vector<std::int32_t>> SafetensorsCheckpoint::get_i32s(
    std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) throw field_error(key, "must be an array of integers");
  std::vector<std::int32_t> values;
  for (const json& one : *value) {
    const bool is_small =
        one.is_number_unsigned() ? one.get<std::uint64_t>() <= INT32_MAX : one.is_number_integer();
    const auto wide = is_small ? one.get<std::int64_t>() : INT64_MAX;
    if (wide < INT32_MIN || wide > INT32_MAX) {
      throw field_error(key, "must be an array of 32-bit integers");
    }
    values.push_back(static_cast<std::int32_t>(wide));
  }
  return values;
}

std::optional<std::vector<bool>> SafetensorsCheckpoint::get_bools(std::string_view key) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) throw field_error(key, "must be an array of true and false");
  std::vector<bool> values;
  for (const json& one : *value) {
    if (!one.is_boolean()) throw field_error(key, "must be an array of true and false");
    values.push_back(one.get<bool>());
  }
  return values;
}

// No field of config.json that is read here differs by layer.
std::optional<std::uint32_t> SafetensorsCheckpoint::get_uniform_u32(std::string_view key) const {
  return get_u32(key);
}

}  // namespace tandem::model
