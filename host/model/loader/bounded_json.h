// SPDX-License-Identifier: Apache-2.0
//
// parse_json(): JSON of files that may be hostile, within limits of size, depth and values.
//
// Strict JSON in UTF-8; a key that stands twice in an object is an error. Containers too large to
// be kept go by in a stream. Parsing recurses into nothing, so no nesting exhausts the stack.
// Cost: linear in the text; memory: at most `values` small values at a time. Threads: pure.
// Errors: Error("safetensors", "NAME: ...") with the byte where it stands.
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

// What the container at `path` holds ({"model", "vocab"}; {}: the whole text) goes to take() value
// by value, with its key in an object, and is left out of the result.
struct JsonStream {
  std::vector<std::string> path;
  std::function<void(const std::string& key, nlohmann::json value)> take;
};

// `name` stands in messages.
nlohmann::json parse_json(std::string_view text, const std::string& name,
                          const JsonLimits& limits = {},
                          const std::vector<JsonStream>& streams = {});

// The member `key` of an object; null where it is absent, is null or `object` is no object.
const nlohmann::json& json_member(const nlohmann::json& object, std::string_view key);

// A value as it may stand in a message: `"abc"`, `[...]`.
std::string printable_json(const nlohmann::json& value);

}  // namespace tandem::model
