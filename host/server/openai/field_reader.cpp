// SPDX-License-Identifier: Apache-2.0
//
// The messages follow one form: "'field' must be ..., got ...".
#include "server/openai/field_reader.h"

#include <cmath>
#include <cstdio>

#include "common/suggestion.h"
#include "server/openai/api_error.h"
#include "server/openai/common_fields.h"

namespace tandem::server::openai {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t kMostNamed = 16;  // ignored fields that a warning names

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

// The value that the client sent, shortened for a message.
std::string describe(const json& value) {
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  if (value.is_string()) return "a string";
  return value.dump();
}

std::string range_text(const NumberRange& range) {
  const bool bounded_high = range.high < std::numeric_limits<double>::max();
  const std::string low = short_number(range.low), high = short_number(range.high);
  if (range.open_low) return "greater than " + low + (bounded_high ? " and at most " + high : "");
  return bounded_high ? "between " + low + " and " + high : "at least " + low;
}

}  // namespace

void fail_field(const std::string& path, const std::string& problem) {
  throw ApiError(400, "'" + path + "' " + problem, path, "invalid_value");
}

void ignore_field(const std::string& path, const std::string& problem,
                  std::vector<std::string>* ignored) {
  if (ignored == nullptr) fail_field(path, problem);
  if (ignored->size() < kMostNamed) ignored->push_back(path);
}

std::string indexed(const std::string& name, std::size_t index) {
  return name + "[" + std::to_string(index) + "]";
}

void check_count(const std::string& field, const char* things, std::size_t count, int most) {
  if (count <= static_cast<std::size_t>(most)) return;
  fail_field(field, "must have at most " + std::to_string(most) + " " + things + ", got " +
                        std::to_string(count));
}

double number_value(const json& value, const std::string& path, NumberRange range) {
  if (!value.is_number()) fail_field(path, "must be a number, got " + describe(value));
  const double number = value.get<double>();
  const bool inside = std::isfinite(number) && number <= range.high &&
                      (range.open_low ? number > range.low : number >= range.low);
  if (!inside) fail_field(path, "must be " + range_text(range) + ", got " + describe(value));
  return number;
}

std::int64_t integer_value(const json& value, const std::string& path, std::int64_t low,
                           std::int64_t high) {
  if (!value.is_number_integer()) fail_field(path, "must be an integer, got " + describe(value));
  const bool too_large =
      value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<int64_t>::max());
  if (too_large || value.get<std::int64_t>() < low || value.get<std::int64_t>() > high) {
    fail_field(path, "must be between " + std::to_string(low) + " and " + std::to_string(high) +
                         ", got " + describe(value));
  }
  return value.get<std::int64_t>();
}

const std::string& string_value(const json& value, const std::string& path) {
  if (!value.is_string()) fail_field(path, "must be a string, got " + describe(value));
  return value.get_ref<const std::string&>();
}

const json& object_value(const json& value, const std::string& path) {
  if (!value.is_object()) fail_field(path, "must be an object, got " + describe(value));
  return value;
}

FieldReader::FieldReader(const json& object, std::string prefix)
    : object_(&object), prefix_(std::move(prefix)) {}

const json* FieldReader::find(std::string_view name) {
  read_.emplace(name);
  const auto found = object_->find(std::string(name));
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

const json& FieldReader::require(std::string_view name) {
  const json* value = find(name);
  if (value == nullptr) fail_field(path(name), "is required");
  return *value;
}

std::optional<double> FieldReader::number(std::string_view name, NumberRange range) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return number_value(*value, path(name), range);
}

std::optional<std::int64_t> FieldReader::integer(std::string_view name, std::int64_t low,
                                                 std::int64_t high) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  return integer_value(*value, path(name), low, high);
}

std::optional<bool> FieldReader::boolean(std::string_view name) {
  const json* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) {
    fail_field(path(name), "must be true or false, got " + describe(*value));
  }
  return value->get<bool>();
}

void FieldReader::check_unread(std::vector<std::string>* ignored) const {
  for (const auto& [name, value] : object_->items()) {
    if (value.is_null() || read_.contains(name)) continue;
    if (ignored == nullptr || !is_common_field(name)) {
      const std::vector<std::string_view> known(read_.begin(), read_.end());
      fail_field(path(name), "is not supported by this server; leave it out" +
                                 (name.size() > 64 ? "" : suggestion(name, known)));
    }
    ignore_field(path(name), {}, ignored);
  }
}

}  // namespace tandem::server::openai
