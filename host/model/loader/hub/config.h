// SPDX-License-Identifier: Apache-2.0
//
// HubConfig: config.json of a published directory as GGUF's keys, field by field.
//
// Every key of the class remembers the field it came from, also where the field is absent, so that
// whoever refuses a value names what the user can look at. Fields that the class does not look at
// are left out, defaults of the class filled in. What GGUF has as tensors (the divisors of
// rotary frequencies) is computed here. Known fields that ask for
// what no family does are refused; unknown ones are passed over.
// Threads: immutable. Errors: Error("safetensors", "DIR/config.json: field 'x': ...").
// Source: Transformers' configuration classes; GGUF's key names.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/error.h"
#include "model/loader/hub/quantization.h"

namespace tandem::model {

struct HubConfig {
  std::string file;          // names config.json in messages
  std::string architecture;  // GGUF's: "llama"
  bool is_gemma = false;     // norms count from 1, and stand behind attention and feed-forward too
  bool ties_embeddings = false;
  HubQuantization quantization;
  std::unordered_map<std::string, nlohmann::json> values;       // by GGUF key
  std::unordered_map<std::string, std::string> fields;          // config.json's field of each key
  std::unordered_map<std::string, std::vector<float>> tensors;  // by GGUF name: [pairs]

  Error field_error(std::string_view key, const std::string& what) const;
};

// `text`: of config.json; `file`: its name for messages.
HubConfig read_hub_config(std::string_view text, const std::string& file);

}  // namespace tandem::model
