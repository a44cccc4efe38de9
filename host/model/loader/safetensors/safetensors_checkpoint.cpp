// SPDX-License-Identifier: Apache-2.0
//
// Gives the tensors of a directory GGUF's names, and makes the computed ones.
#include "model/loader/safetensors/safetensors_checkpoint.h"

#include <cstring>
#include <filesystem>

#include "model/loader/bounded_json.h"
#include "model/loader/printable.h"
#include "model/loader/read_text.h"

namespace tandem::model {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr const char* kWeightFile = "model.safetensors";

// The last part of the path, however it is written: "DIR/", ".".
std::string directory_name(const std::string& directory) {
  std::error_code ignored;
  fs::path path = fs::absolute(directory, ignored).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.has_filename() ? path.filename().string() : directory;
}

SafetensorsParts open_directory(const std::string& directory) {
  const fs::path folder(directory);
  const auto is_there = [&](const char* name) {
    std::error_code ignored;
    return fs::exists(folder / name, ignored);
  };
  if (!is_there("config.json")) {
    throw Error("safetensors", directory +
                                   ": has no config.json; name a directory as published on model "
                                   "hubs, or a GGUF file");
  }
  SafetensorsParts parts;
  parts.directory = directory;
  // Read before the weights, so that an unsupported architecture is the first error.
  parts.config = read_hub_config(read_text((folder / "config.json").string(), JsonLimits{}.bytes),
                                 directory + "/config.json");
  if (is_there(kWeightFile)) {
    parts.shards.emplace_back((folder / kWeightFile).string());
  } else if (is_there(kIndexFile)) {
    const std::string index = (folder / kIndexFile).string();
    parts.map = read_weight_map(read_text(index, kMaxWeightMapBytes), index);
    for (const std::string& shard : parts.map->shards) {
      if (!is_there(shard.c_str())) {
        throw Error("safetensors", index + ": field 'weight_map': the shard '" + printable(shard) +
                                       "' is missing");
      }
      parts.shards.emplace_back((folder / shard).string());
    }
  } else {
    throw Error("safetensors", directory + ": has neither " + kWeightFile + " nor " + kIndexFile +
                                   "; other formats of weights are not read");
  }
  return parts;
}

std::size_t element_bytes(const SafetensorsTensor& tensor) {
  return dtype_block_bytes(*tensor.dtype);
}

bool is_norm(std::string_view name, const SafetensorsTensor& tensor) {
  return name.ends_with("norm.weight") && tensor.shape.size() == 1;
}

// The values with 1 added, in f32.
std::vector<std::byte> from_one(const SafetensorsTensor& tensor) {
  const std::size_t count = tensor.size_bytes / element_bytes(tensor);
  std::vector<std::byte> own(count * sizeof(float));
  std::vector<std::byte> aligned(tensor.data, tensor.data + tensor.size_bytes);
  std::vector<float> values(count);
  dequantize_row(*tensor.dtype, aligned.data(), values.data(), count);
  for (float& value : values) value += 1.0f;
  std::memcpy(own.data(), values.data(), own.size());
  return own;
}

}  // namespace

SafetensorsCheckpoint::SafetensorsCheckpoint(const std::string& directory)
    : SafetensorsCheckpoint(open_directory(directory)) {}

SafetensorsCheckpoint::SafetensorsCheckpoint(SafetensorsCheckpoint&&) noexcept = default;

SafetensorsCheckpoint::SafetensorsCheckpoint(SafetensorsParts parts)
    : config_(std::move(parts.config)), parts_(std::move(parts)) {
  config_.values["general.name"] = directory_name(parts_.directory);
  check_listed_tensors();
  for (std::size_t shard = 0; shard < parts_.shards.size(); ++shard) add_shard(shard);
  for (const auto& [name, values] : config_.tensors) add_computed(name, values);
  check_output();
}

void SafetensorsCheckpoint::check_listed_tensors() const {
  if (!parts_.map) return;
  for (const auto& [name, shard] : parts_.map->shard_of) {
    const SafetensorsFile& file = parts_.shards[shard];
    if (file.find(name) == nullptr) {
      throw file.tensor_error(
          name, std::string("is missing, though ") + kIndexFile + " says that it lies here");
    }
  }
}

void SafetensorsCheckpoint::add_shard(std::size_t shard) {
  const SafetensorsFile& file = parts_.shards[shard];
  for (const SafetensorsTensor& tensor : file.tensors()) {
    if (parts_.map) {
      const auto listed = parts_.map->shard_of.find(tensor.name);
      if (listed == parts_.map->shard_of.end()) {
        if (is_left_out(text_name(tensor.name))) continue;
        throw file.tensor_error(tensor.name, std::string("is not listed in ") + kIndexFile);
      }
      if (listed->second != shard) continue;  // the index says which of several is meant
    }
    add_tensor(file, tensor);
  }
}

// The name as a model without a vision part has it.
std::string SafetensorsCheckpoint::text_name(std::string_view hub_name) const {
  for (const auto& [nested, plain] :
       {std::pair{"language_model.model.", "model."}, std::pair{"model.language_model.", "model."},
        std::pair{"language_model.lm_head.", "lm_head."}}) {
    if (hub_name.starts_with(nested)) {
      return plain + std::string(hub_name.substr(std::strlen(nested)));
    }
  }
  return std::string(hub_name);
}

bool SafetensorsCheckpoint::is_left_out(std::string_view name) const {
  for (const char* vision : {"vision_tower.", "multi_modal_projector.", "model.vision_tower.",
                             "model.multi_modal_projector."}) {
    if (name.starts_with(vision)) return true;
  }
  return name.ends_with(".rotary_emb.inv_freq") ||
         (config_.ties_embeddings && name == "lm_head.weight");
}

void SafetensorsCheckpoint::add_tensor(const SafetensorsFile& file,
                                       const SafetensorsTensor& tensor) {
  const std::string plain = text_name(tensor.name);
  if (is_left_out(plain) || is_scale(file, tensor)) return;
  std::string name = gguf_tensor_name(plain, style());
  if (name.empty() && !tensor.dtype) return;  // a table of positions or similar
  if (name.empty()) name = plain;             // the reader of tensors then refuses it
  Entry entry = described(file, tensor);
  if (entry.tensor.dtype == DType::kF8E4M3) {
    if (name == "token_embd.weight") {
      throw file.tensor_error(tensor.name, "an embedding in F8_E4M3 is not read");
    }
    add_scales(file, tensor, entry);
  }
  const bool is_aligned =
      reinterpret_cast<std::uintptr_t>(tensor.data) % element_bytes(tensor) == 0;
  if (config_.is_gemma && is_norm(name, tensor)) {
    entry.own = from_one(tensor);
    entry.tensor.dtype = DType::kF32;
  } else if (!is_aligned) {
    entry.own.assign(tensor.data, tensor.data + tensor.size_bytes);
  }
  const auto before = index_.find(name);
  if (before != index_.end()) {
    throw file.tensor_error(tensor.name,
                            "is the same weight as '" + printable(before->second->hub_name) + "'");
  }
  keep(std::move(name), std::move(entry));
}

SafetensorsCheckpoint::Entry SafetensorsCheckpoint::described(const SafetensorsFile& file,
                                                              const SafetensorsTensor& tensor) {
  if (!tensor.dtype) {
    throw file.tensor_error(tensor.name, "the dtype " + tensor.type +
                                             " is not read; readable: F32, F16, BF16, F8_E4M3");
  }
  if (tensor.shape.size() > 4) throw file.tensor_error(tensor.name, "has more than 4 dimensions");
  if (tensor.size_bytes == 0) throw file.tensor_error(tensor.name, "is empty");
  Entry entry;
  entry.file = &file;
  entry.hub_name = tensor.name;
  entry.tensor.dtype = *tensor.dtype;
  entry.tensor.num_dims = static_cast<std::uint32_t>(tensor.shape.size());
  for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    entry.tensor.dims[dim] = tensor.shape[tensor.shape.size() - 1 - dim];
  }
  entry.tensor.data = tensor.data;
  entry.tensor.size_bytes = tensor.size_bytes;
  return entry;
}

// A tensor of any file, under the name that the files have for it.
StoredScales SafetensorsCheckpoint::find_stored(const std::string& hub_name) const {
  if (parts_.map) {
    const auto listed = parts_.map->shard_of.find(hub_name);
    if (listed == parts_.map->shard_of.end()) return {};
    const SafetensorsFile& file = parts_.shards[listed->second];
    return {&file, file.find(hub_name)};
  }
  const SafetensorsFile& file = parts_.shards.front();
  return {&file, file.find(hub_name)};
}

// Whether the tensor holds scales of another one, or is not used.
bool SafetensorsCheckpoint::is_scale(const SafetensorsFile& file,
                                     const SafetensorsTensor& tensor) const {
  if (!config_.quantization.has_f8) return false;
  if (is_unused_scale(tensor.name)) return true;
  const std::string_view module = module_of_weight_scale(tensor.name);
  if (module.empty()) return false;
  const std::string weight = std::string(module) + ".weight";
  const SafetensorsTensor* scaled = find_stored(weight).tensor;
  if (scaled == nullptr || scaled->dtype != DType::kF8E4M3) {
    throw file.tensor_error(tensor.name, "there is no '" + printable(weight) + "' in F8_E4M3");
  }
  return true;
}

void SafetensorsCheckpoint::add_scales(const SafetensorsFile& file, const SafetensorsTensor& tensor,
                                       Entry& entry) const {
  const HubQuantization& quantization = config_.quantization;
  const auto fail = [&](const std::string& what) { return file.tensor_error(tensor.name, what); };
  if (!quantization.has_f8) {
    throw fail("is F8_E4M3, but config.json has no quantization_config that says so");
  }
  constexpr std::string_view kWeight = ".weight";
  if (tensor.shape.size() != 2 || !tensor.name.ends_with(kWeight)) {
    throw fail("is F8_E4M3, which only matrices may be");
  }
  const std::string module = tensor.name.substr(0, tensor.name.size() - kWeight.size());
  for (const std::string& name : {module, text_name(module)}) {
    const auto listed = quantization.modules_left_alone.find(name);
    if (listed != quantization.modules_left_alone.end()) {
      throw fail("is F8_E4M3, though config.json's field 'quantization_config." + listed->second +
                 "' says that it is not quantised");
    }
  }
  const StoredScales plain = find_stored(module + ".weight_scale");
  const StoredScales inverse = find_stored(module + ".weight_scale_inv");
  if ((plain.tensor == nullptr) == (inverse.tensor == nullptr)) {
    throw fail(plain.tensor == nullptr ? "is F8_E4M3 and has no weight_scale beside it"
                                       : "has both a weight_scale and a weight_scale_inv");
  }
  const StoredScales& stored = plain.tensor != nullptr ? plain : inverse;
  entry.tensor.scales = read_f8_scales(quantization, tensor, stored, entry.scales);
}

void SafetensorsCheckpoint::keep(std::string name, Entry entry) {
  if (!entry.own.empty()) {
    entry.tensor.data = entry.own.data();
    entry.tensor.size_bytes = entry.own.size();
  }
  names_.push_back(std::move(name));
  entry.tensor.name = names_.back();
  entries_.push_back(std::move(entry));  // what vectors hold stays where it is
  index_.emplace(names_.back(), &entries_.back());
}

void SafetensorsCheckpoint::add_computed(const std::string& name,
                                         const std::vector<float>& values) {
  if (index_.contains(name)) {
    throw tensor_error(index_.at(name)->tensor, "follows from config.json and cannot be stored");
  }
  Entry entry;
  entry.hub_name = name;
  entry.own.resize(values.size() * sizeof(float));
  std::memcpy(entry.own.data(), values.data(), entry.own.size());
  entry.tensor.num_dims = 1;
  entry.tensor.dims[0] = values.size();
  keep(name, std::move(entry));
}

// Families take an absent output matrix to be the embedding; config.json must say so.
void SafetensorsCheckpoint::check_output() const {
  if (!config_.ties_embeddings && !index_.contains("output.weight")) {
    throw missing_tensor_error("output.weight");
  }
  const CheckpointTensor* embedding = find_tensor("token_embd.weight");
  const std::string key = config_.architecture + ".vocab_size";
  const auto stated = get_u32(key);
  if (embedding != nullptr && stated && embedding->dims[1] != *stated) {
    throw field_error(key, std::to_string(*stated) + " tokens, but the embedding has " +
                               std::to_string(embedding->dims[1]) + " rows");
  }
}

const CheckpointTensor* SafetensorsCheckpoint::find_tensor(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &found->second->tensor;
}

void SafetensorsCheckpoint::for_each_tensor(
    const std::function<void(const CheckpointTensor& tensor)>& visit) const {
  for (const Entry& entry : entries_) visit(entry.tensor);
}

Error SafetensorsCheckpoint::tensor_error(const CheckpointTensor& tensor,
                                          const std::string& what) const {
  const auto found = index_.find(tensor.name);
  if (found == index_.end() || found->second->file == nullptr) {
    return field_error(tensor.name, what);
  }
  return found->second->file->tensor_error(found->second->hub_name, what);
}

Error SafetensorsCheckpoint::missing_tensor_error(std::string_view name) const {
  const std::string file = parts_.map || parts_.shards.empty() ? parts_.directory + '/' + kIndexFile
                                                               : parts_.shards.front().path();
  return Error("safetensors", file + ": the tensor '" + printable(hub_tensor_name(name, style())) +
                                  "' is missing");
}

void SafetensorsCheckpoint::read_ahead(const std::function<void(double)>& progress) const {
  double total = 0, before = 0;
  for (const SafetensorsFile& shard : parts_.shards) {
    total += static_cast<double>(shard.size_bytes());
  }
  for (const SafetensorsFile& shard : parts_.shards) {
    const auto size = static_cast<double>(shard.size_bytes());
    shard.read_ahead([&](double fraction) { progress((before + fraction * size) / total); });
    before += size;
  }
}

void SafetensorsCheckpoint::release(std::span<const std::byte> part) const {
  for (const SafetensorsFile& shard : parts_.shards) shard.release(part);
}

}  // namespace tandem::model
