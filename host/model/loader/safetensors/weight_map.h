// SPDX-License-Identifier: Apache-2.0
//
// Reads model.safetensors.index.json: the shard of each tensor.
//
// Threads: any; pure functions. Errors: Error("safetensors", "FILE: field 'weight_map': ...") if a
// shard is not a plain file name, because a model may name only files of its own directory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tandem::model {

// Large mixtures of experts have some hundred thousand tensors.
inline constexpr std::size_t kMaxWeightMapBytes = std::size_t{64} << 20;

struct WeightMap {
  std::vector<std::string> shards;                        // in order of their first tensor
  std::unordered_map<std::string, std::size_t> shard_of;  // by the tensor's name
};

// `file` is for messages.
WeightMap read_weight_map(std::string_view text, const std::string& file);

}  // namespace tandem::model
