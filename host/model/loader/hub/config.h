// SPDX-License-Identifier: Apache-2.0
//
// HubConfig: config.json of a published directory as GGUF's keys, field by field.
//
// For every key it records the source field, also if that field is absent, so errors name a field
// that the user can find. Absent fields get the defaults of the model's class; fields that the
// class does not use are left out. Divisors of rotary frequencies, which are tensors in GGUF, are
// computed here. Known fields with an unsupported value are refused; unknown fields are ignored.
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
  // norms count from 1; there are also norms after attention and feed-forward
  bool is_gemma = false;
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
