// SPDX-License-Identifier: Apache-2.0
//
// FieldReader: typed, range-checked access to the fields of one JSON object. It records which
// fields were read, so that all others can be reported.
//
// null counts as absent, as in OpenAI's API. Every error is an ApiError 400 that names the field by
// its path ("stream_options.include_usage"). Threads: one.
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::server::openai {

struct NumberRange {
  double low = -std::numeric_limits<double>::max();
  double high = std::numeric_limits<double>::max();
  bool open_low = false;  // low itself is excluded
};

// Throws the error 400 for the field at `path`.
[[noreturn]] void fail_field(const std::string& path, const std::string& problem);

// For a field that this server cannot honour: adds it to `ignored`, or throws 400 if that is null.
void ignore_field(const std::string& path, const std::string& problem,
                  std::vector<std::string>* ignored);

std::string indexed(const std::string& name, std::size_t index);  // "messages[0]"

// Throws 400 if there are more than `most` of the `things` ("texts").
void check_count(const std::string& path, const char* things, std::size_t count, int most);

// Checked conversions of a value; `path` names it in messages.
double number_value(const nlohmann::ordered_json& value, const std::string& path,
                    NumberRange range);
std::int64_t integer_value(const nlohmann::ordered_json& value, const std::string& path,
                           std::int64_t low, std::int64_t high);
const std::string& string_value(const nlohmann::ordered_json& value, const std::string& path);
const nlohmann::ordered_json& object_value(const nlohmann::ordered_json& value,
                                           const std::string& path);

class FieldReader {
 public:
  // `prefix`: the path of the object with a final dot; empty at the top. Borrows the object.
  FieldReader(const nlohmann::ordered_json& object, std::string prefix);

  // Null if the field is absent or null; marks the field as read.
  const nlohmann::ordered_json* find(std::string_view name);
  const nlohmann::ordered_json& require(std::string_view name);

  std::optional<double> number(std::string_view name, NumberRange range);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t low, std::int64_t high);
  std::optional<bool> boolean(std::string_view name);

  std::string path(std::string_view name) const { return prefix_ + std::string(name); }

  // Throws 400 for the first field that was not read, with a suggestion. With `ignored`, fields of
  // common clients (common_fields.h) are added to it instead.
  void check_unread(std::vector<std::string>* ignored) const;

 private:
  const nlohmann::ordered_json* object_;
  std::string prefix_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace tandem::server::openai
