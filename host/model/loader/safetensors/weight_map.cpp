// SPDX-License-Identifier: Apache-2.0
//
// Reading of weight_map.
#include "model/loader/safetensors/weight_map.h"

#include "common/error.h"
#include "model/loader/bounded_json.h"
#include "model/loader/printable.h"

namespace tandem::model {
namespace {

constexpr JsonLimits kLimits{.bytes = kMaxWeightMapBytes, .depth = 8, .values = 1u << 16};
constexpr std::size_t kMaxShards = 4096, kMaxFileName = 255;

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxFileName && name[0] != '.' &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos &&
         name.ends_with(".safetensors");
}

}  // namespace

WeightMap read_weight_map(std::string_view text, const std::string& file) {
  WeightMap map;
  std::unordered_map<std::string, std::size_t> numbers;
  const auto fail = [&](const std::string& what) {
    throw Error("safetensors", file + ": field 'weight_map': " + what);
  };
  const auto take = [&](const std::string& tensor, const nlohmann::json& shard) {
    if (!shard.is_string() || !is_plain_file_name(shard.get_ref<const std::string&>())) {
      fail("tensor '" + printable(tensor) + "' lies in " + printable_json(shard) +
           ", which is not the plain name of a .safetensors file");
    }
    const auto [number, is_new] = numbers.emplace(shard.get<std::string>(), map.shards.size());
    if (is_new) map.shards.push_back(number->first);
    if (map.shards.size() > kMaxShards) {
      fail("names more than " + std::to_string(kMaxShards) + " shards");
    }
    if (!map.shard_of.emplace(tensor, number->second).second) {
      fail("tensor '" + printable(tensor) + "' occurs twice");
    }
  };
  parse_json(text, file, kLimits, {{{"weight_map"}, take}});
  if (map.shards.empty()) fail("is missing or empty");
  return map;
}

}  // namespace tandem::model
