// SPDX-License-Identifier: Apache-2.0
//
// HubQuantization: config.json's quantization_config for matrices in F8_E4M3.
//
// Three forms are read: "compressed-tensors" with weights of 8-bit floats, "fbgemm_fp8", and "fp8",
// whole or in blocks. The scales of NAME.weight are in NAME.weight_scale or NAME.weight_scale_inv.
// Both multiply, also the one named "inv". There is one scale, or one per row, or one per block. A
// matrix's own type tells whether it is quantised; a module that the configuration excludes by its
// full name must not be quantised. Scales of activations and of KV pages are ignored: the device
// rounds activations, and the user chooses the type of pages. Other methods are refused by name.
// Threads: plain data. Errors: Error("safetensors", "FILE: field 'quantization_config...': ...").
// Source: the configuration classes of Transformers and compressed-tensors.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tandem::model {

struct HubQuantization {
  bool has_f8 = false;
  bool per_matrix = false, per_row = false;        // the allowed forms of scales
  std::int64_t block_rows = 0, block_columns = 0;  // 0: not in blocks
  // Full names of excluded modules, each with the field that lists it. Patterns ("re:...") are not
  // kept: the types of the tensors decide.
  std::unordered_map<std::string, std::string> modules_left_alone;
};

// `config`: the object of config.json; null if there is none. `path`: its name for messages: "FILE:
// field 'quantization_config".
HubQuantization read_hub_quantization(const nlohmann::json& config, const std::string& path);

// NAME if `name` is that of the scales of NAME's weight; otherwise empty.
std::string_view module_of_weight_scale(std::string_view name);
// Whether `name` is a scale of activations or of KV pages.
bool is_unused_scale(std::string_view name);

}  // namespace tandem::model
