// SPDX-License-Identifier: Apache-2.0
//
// parse_json(): JSON of untrusted files, within limits of size, depth and number of values.
//
// Strict JSON in UTF-8; a duplicate key in an object is an error. A JsonStream receives the values
// of a container that is too large to keep. There is no recursion, so nesting cannot exhaust the
// stack. Cost: linear in the text; memory: at most `values` small values at a time. Threads: any;
// pure functions. Errors: Error("safetensors", "NAME: ...") with the position in bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::model {

struct JsonLimits {
  std::size_t bytes = std::size_t{16} << 20;
  std::size_t depth = 32;
  std::size_t values = std::size_t{1} << 20;  // kept at a time
};

// Passes the values of the container at `path` ({"model", "vocab"}; {}: the whole text) one by one
// to take(), with their keys if it is an object. The result does not contain them.
struct JsonStream {
  std::vector<std::string> path;
  std::function<void(const std::string& key, nlohmann::json value)> take;
};

// `name` is for messages.
nlohmann::json parse_json(std::string_view text, const std::string& name,
                          const JsonLimits& limits = {},
                          const std::vector<JsonStream>& streams = {});

// The member `key` of an object; null if it is absent or null, or `object` is not an object.
const nlohmann::json& json_member(const nlohmann::json& object, std::string_view key);

// A value in a form for messages: `"abc"`, `[...]`.
std::string printable_json(const nlohmann::json& value);

}  // namespace tandem::model
