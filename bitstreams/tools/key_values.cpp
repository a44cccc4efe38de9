// SPDX-License-Identifier: Apache-2.0
//
// The JSON is {"keyvalue_metadata": {"key_values": [{"key": "a", "value": "b"}]}}.
#include "bitstreams/tools/key_values.h"

#include <xclbin.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/error.h"

namespace tandem::xclbin {
namespace {

using nlohmann::ordered_json;
using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs::iterator find(Pairs& pairs, const std::string& key) {
  return std::find_if(pairs.begin(), pairs.end(),
                      [&](const auto& pair) { return pair.first == key; });
}

void write(XclbinImage& image, const Pairs& pairs) {
  if (image.find(KEYVALUE_METADATA) != nullptr && pairs.empty()) {
    return image.remove(KEYVALUE_METADATA);
  }
  ordered_json list = ordered_json::array();
  for (const auto& [key, value] : pairs) list.push_back({{"key", key}, {"value", value}});
  std::string text;
  try {
    text = ordered_json{{"keyvalue_metadata", {{"key_values", std::move(list)}}}}.dump();
  } catch (const ordered_json::exception&) {
    throw Error("xclbin", "--key-value: names and values must be UTF-8");
  }
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  ImageSection section{KEYVALUE_METADATA, "KEYVALUE_METADA", {begin, begin + text.size()}};
  if (image.find(KEYVALUE_METADATA) != nullptr) return image.replace(std::move(section));
  image.add(std::move(section));
}

}  // namespace

Pairs key_values(const XclbinImage& image) {
  Pairs pairs;
  const ImageSection* section = image.find(KEYVALUE_METADATA);
  if (section == nullptr) return pairs;
  try {
    const auto* begin = reinterpret_cast<const char*>(section->bytes.data());
    const auto root = ordered_json::parse(begin, begin + section->bytes.size());
    for (const ordered_json& pair : root.at("keyvalue_metadata").at("key_values")) {
      pairs.emplace_back(pair.at("key").get<std::string>(), pair.at("value").get<std::string>());
    }
  } catch (const ordered_json::exception&) {
    throw Error("xclbin", "section KEYVALUE_METADATA is damaged; --remove-section removes it");
  }
  return pairs;
}

void set_key(XclbinImage& image, const std::string& key, const std::string& value) {
  Pairs pairs = key_values(image);
  const auto found = find(pairs, key);
  if (found == pairs.end()) {
    pairs.emplace_back(key, value);
  } else {
    found->second = value;
  }
  write(image, pairs);
}

void remove_key(XclbinImage& image, const std::string& key) {
  Pairs pairs = key_values(image);
  const auto found = find(pairs, key);
  if (found == pairs.end()) {
    throw Error("xclbin", "--remove-key " + key + ": the file has no such key");
  }
  pairs.erase(found);
  write(image, pairs);
}

}  // namespace tandem::xclbin
