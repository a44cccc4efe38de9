// SPDX-License-Identifier: Apache-2.0
//
// SafetensorsCheckpoint: a directory as published on model hubs, with GGUF's keys and names.
//
// It reads config.json, and model.safetensors or model.safetensors.index.json with its shards.
// Weights stay mapped. Own memory holds tensors that GGUF's converters also compute (Gemma's norms
// with 1 added, divisors of rotary frequencies), scales of F8_E4M3 matrices as f32, and tensors
// that are not aligned to their elements. Left out: the vision part of a model, stored rotary
// tables, an output matrix that config.json ties to the embedding, and tensors of an unknown name
// in a type that is not read (positions in I64). Ownership: owns the mappings. Threads: immutable.
// Errors: Error("safetensors", "DIR/config.json: field 'num_hidden_layers':
// ...") and "DIR/FILE.safetensors: tensor 'model.norm.weight': ...".
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/loader/checkpoint.h"
#include "model/loader/hub/config.h"
#include "model/loader/safetensors/f8_scales.h"
#include "model/loader/safetensors/safetensors_file.h"
#include "model/loader/safetensors/tensor_names.h"
#include "model/loader/safetensors/weight_map.h"

namespace tandem::model {

// The contents of a directory. `shards` are those that `map` names; without a map there is one.
struct SafetensorsParts {
  std::string directory;  // for messages
  HubConfig config;
  std::optional<WeightMap> map;
  std::vector<SafetensorsFile> shards;
};

class SafetensorsCheckpoint final : public Checkpoint {
 public:
  explicit SafetensorsCheckpoint(const std::string& directory);
  explicit SafetensorsCheckpoint(SafetensorsParts parts);
  SafetensorsCheckpoint(SafetensorsCheckpoint&&) noexcept;

  const std::string& directory() const { return parts_.directory; }

  bool has(std::string_view key) const override { return find(key) != nullptr; }
  bool is_array(std::string_view key) const override {
    return find(key) != nullptr && find(key)->is_array();
  }
  std::optional<std::uint32_t> get_u32(std::string_view key) const override;
  std::optional<float> get_f32(std::string_view key) const override;
  std::optional<bool> get_bool(std::string_view key) const override;
  std::optional<std::string_view> get_string(std::string_view key) const override;
  std::optional<std::vector<float>> get_f32s(std::string_view key) const override;
  std::optional<std::vector<std::int32_t>> get_i32s(std::string_view key) const override;
  std::optional<std::vector<bool>> get_bools(std::string_view key) const override;
  std::optional<std::uint32_t> get_uniform_u32(std::string_view key) const override;

  const CheckpointTensor* find_tensor(std::string_view name) const override;
  void for_each_tensor(
      const std::function<void(const CheckpointTensor& tensor)>& visit) const override;
  bool rotates_neighbours() const override { return false; }

  Error field_error(std::string_view key, const std::string& what) const override;
  Error tensor_error(const CheckpointTensor& tensor, const std::string& what) const override;
  Error missing_tensor_error(std::string_view name) const override;

  void read_ahead(const std::function<void(double)>& progress) const override;
  void release(std::span<const std::byte> part) const override;

 private:
  struct Entry {
    CheckpointTensor tensor;                // its name is that of the index
    const SafetensorsFile* file = nullptr;  // null: computed here
    std::string hub_name;
    std::vector<std::byte> own;
    std::vector<float> scales;
  };

  const nlohmann::json* find(std::string_view key) const;
  void check_listed_tensors() const;
  void add_shard(std::size_t shard);
  void add_tensor(const SafetensorsFile& file, const SafetensorsTensor& tensor);
  static Entry described(const SafetensorsFile& file, const SafetensorsTensor& tensor);
  StoredScales find_stored(const std::string& hub_name) const;
  bool is_scale(const SafetensorsFile& file, const SafetensorsTensor& tensor) const;
  void add_scales(const SafetensorsFile& file, const SafetensorsTensor& tensor, Entry& entry) const;
  void keep(std::string name, Entry entry);
  void add_computed(const std::string& name, const std::vector<float>& values);
  void check_output() const;
  std::string text_name(std::string_view hub_name) const;
  bool is_left_out(std::string_view name) const;
  NameStyle style() const { return {.has_post_norms = config_.is_gemma}; }

  HubConfig config_;
  SafetensorsParts parts_;         // without the config
  std::deque<std::string> names_;  // GGUF's; tensors' names are views of them
  std::deque<Entry> entries_;
  std::unordered_map<std::string_view, Entry*> index_;
};

}  // namespace tandem::model
