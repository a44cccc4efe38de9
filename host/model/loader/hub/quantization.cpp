// SPDX-License-Identifier: Apache-2.0
//
// The forms of quantization_config, field by field.
#include "model/loader/hub/quantization.h"

#include <algorithm>

#include "common/error.h"
#include "model/loader/bounded_json.h"
#include "model/loader/printable.h"

namespace tandem::model {
namespace {

using nlohmann::json;

constexpr std::string_view kPattern = "re:";
constexpr std::int64_t kMaxBlock = 1 << 20;
constexpr std::int64_t kBlockStep = 16;  // of columns: what kernels take at a time

class Reader {
 public:
  Reader(const json& config, const std::string& path) : config_(config), path_(path) {}

  HubQuantization read() {
    if (!config_.is_object()) throw error("", "is not an object");
    const json& method = json_member(config_, "quant_method");
    if (method == "compressed-tensors") {
      read_compressed_tensors();
    } else if (method == "fp8") {
      read_fp8();
    } else if (method == "fbgemm_fp8") {
      read_list("modules_to_not_convert");
      result_.per_row = result_.per_matrix = true;
    } else {
      throw error("quant_method", shown(method) +
                                      " is not read; readable: compressed-tensors with 8-bit "
                                      "floats, fbgemm_fp8, fp8; use the original weights, or a "
                                      "GGUF file");
    }
    result_.has_f8 = true;
    return std::move(result_);
  }

 private:
  Error error(const std::string& field, const std::string& what) const {
    return Error("safetensors", path_ + (field.empty() ? "" : ".") + field + "': " + what);
  }

  static std::string shown(const json& value) {
    return value.is_null() ? std::string("nothing") : printable_json(value);
  }

  // A field that may only be one of `known`, or absent.
  void require(const json& object, const char* field, const std::string& prefix,
               std::initializer_list<json> known) const {
    const json& value = json_member(object, field);
    if (value.is_null() || std::ranges::find(known, value) != known.end()) return;
    throw error(prefix + field,
                shown(value) + " is not read; readable: " + printable_json(*known.begin()));
  }

  void read_list(const char* field) {
    const json& list = json_member(config_, field);
    if (list.is_null()) return;
    if (!list.is_array()) throw error(field, "must be an array of names of modules");
    for (const json& name : list) {
      if (!name.is_string()) throw error(field, "must be an array of names of modules");
      auto module = name.get<std::string>();
      if (!module.starts_with(kPattern))
        result_.modules_left_alone.emplace(std::move(module), field);
    }
  }

  void read_block(const json& block, const std::string& field) {
    const auto size_of = [&](const json& value) {
      const bool is_size = value.is_number_unsigned() && value.get<std::uint64_t>() >= 1 &&
                           value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMaxBlock);
      if (!is_size) {
        throw error(field, shown(value) + " is not in 1.." + std::to_string(kMaxBlock));
      }
      return value.get<std::int64_t>();
    };
    if (!block.is_array() || block.size() != 2) throw error(field, "must be two sizes");
    const std::int64_t rows = size_of(block[0]), columns = size_of(block[1]);
    if (columns % kBlockStep != 0) {
      throw error(field, "blocks of " + std::to_string(columns) +
                             " columns are not read; multiples of " + std::to_string(kBlockStep) +
                             " are");
    }
    const bool differs = result_.block_rows != rows || result_.block_columns != columns;
    if (result_.block_rows != 0 && differs) {
      throw error(field, "differs from that of another group, which is not supported");
    }
    result_.block_rows = rows;
    result_.block_columns = columns;
  }

  void read_fp8() {
    require(config_, "fmt", "", {"e4m3", "float8_e4m3fn"});
    require(config_, "activation_scheme", "", {"dynamic", "static"});
    read_list("ignored_layers");
    read_list("modules_to_not_convert");
    const json& block = json_member(config_, "weight_block_size");
    if (block.is_null()) {
      result_.per_row = result_.per_matrix = true;
    } else {
      read_block(block, "weight_block_size");
    }
  }

  void read_compressed_tensors() {
    require(config_, "format", "", {"float-quantized", "naive-quantized"});
    const json& sparsity = json_member(config_, "sparsity_config");
    if (sparsity.is_object()) require(sparsity, "format", "sparsity_config.", {"dense"});
    read_list("ignore");
    const json& groups = json_member(config_, "config_groups");
    if (!groups.is_object() || groups.empty()) {
      throw error("config_groups", "must be an object of groups");
    }
    for (const auto& [name, group] : groups.items()) {
      read_group(group, "config_groups." + printable(name) + ".");
    }
  }

  void read_group(const json& group, const std::string& prefix) {
    require(group, "format", prefix, {"float-quantized", "naive-quantized"});
    const json& weights = json_member(group, "weights");
    if (!weights.is_object()) throw error(prefix + "weights", "must be an object");
    const std::string inner = prefix + "weights.";
    const json& bits = json_member(weights, "num_bits");
    const json& type = json_member(weights, "type");
    if (bits != 8 || type != "float") {
      throw error(prefix + "weights", shown(bits) + " bits of type " + shown(type) +
                                          " are not read; 8 of type \"float\" are");
    }
    require(weights, "symmetric", inner, {true});
    const json& strategy = json_member(weights, "strategy");
    if (strategy == "tensor") {
      result_.per_matrix = true;
    } else if (strategy == "channel") {
      result_.per_row = true;
    } else if (strategy == "block") {
      read_block(json_member(weights, "block_structure"), inner + "block_structure");
    } else {
      throw error(inner + "strategy",
                  shown(strategy) + " is not read; readable: tensor, channel, block");
    }
  }

  const json& config_;
  const std::string path_;
  HubQuantization result_;
};

}  // namespace

HubQuantization read_hub_quantization(const json& config, const std::string& path) {
  if (config.is_null()) return {};
  return Reader(config, path).read();
}

std::string_view module_of_weight_scale(std::string_view name) {
  for (const std::string_view suffix : {".weight_scale", ".weight_scale_inv"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return {};
}

bool is_unused_scale(std::string_view name) {
  constexpr std::string_view kSuffixes[] = {".input_scale", ".input_scale_ub", ".activation_scale",
                                            ".k_scale",     ".v_scale",        ".kv_scale",
                                            ".q_scale",     ".output_scale"};
  return std::ranges::any_of(kSuffixes, [&](auto suffix) { return name.ends_with(suffix); });
}

}  // namespace tandem::model
