// SPDX-License-Identifier: Apache-2.0
//
// Reads the fields of config.json: typed access to all, and those of the rotary embedding.
//
// rope_parameters (newer files) or rope_scaling and rope_theta. linear and YaRN become GGUF's keys;
// llama3 and longrope become divisors of the frequencies, as GGUF has them. Threads: one.
// Errors: Error("safetensors", ...) naming the field; unknown kinds are refused by name.
// Source: Transformers' modeling_rope_utils (definitions of the kinds).
#pragma once

#include "model/loader/hub/config.h"

namespace tandem::model {

// Reads fields of config.json and sets keys of `config`.
struct HubFields {
  HubConfig* config = nullptr;
  std::string prefix;   // "text_config." if the language model's fields are there
  nlohmann::json text;  // those fields, with the class's defaults

  // Null if it is absent or null.
  const nlohmann::json& get(std::string_view field) const;
  Error error(std::string_view field, const std::string& what) const;  // to throw
  bool flag(std::string_view field) const;                             // absent: false
  double number(std::string_view field, double fallback) const;
  // A number of the object at `path` ("rope_scaling.").
  double number_in(const nlohmann::json& object, std::string_view field, const std::string& path,
                   double fallback) const;
  // `key` without the architecture. Null leaves the key absent, known to come from `field`.
  void set(const std::string& key, nlohmann::json value, const std::string& field) const;
};

// `has_local`: layers with a window rotate by separate frequencies (Gemma 3).
void read_rope_fields(const HubFields& fields, bool has_local);

}  // namespace tandem::model
