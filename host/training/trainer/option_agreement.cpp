// SPDX-License-Identifier: Apache-2.0
//
// Values travel as JSON: an array of pairs.
#include "training/trainer/option_agreement.h"

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "collectives/collective.h"
#include "common/error.h"

namespace tandem::training {
namespace {

constexpr const char* kAbsent = "absent";

std::string value_of(const OptionValues& values, const std::string& name) {
  for (const auto& [key, value] : values) {
    if (key == name) return value;
  }
  return kAbsent;
}

// "ranks 1, 2"
std::string list(const std::vector<std::size_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    text += (at == 0 ? "" : ", ") + std::to_string(ranks[at]);
  }
  return text;
}

}  // namespace

std::string differences(const std::vector<OptionValues>& ranks) {
  std::vector<std::string> names;
  for (const OptionValues& values : ranks) {
    for (const auto& [name, value] : values) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::string text;
  for (const std::string& name : names) {
    std::map<std::string, std::vector<std::size_t>> ranks_of;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ranks_of[value_of(ranks[rank], name)].push_back(rank);
    }
    if (ranks_of.size() == 1) continue;
    text += (text.empty() ? "" : "; ") + name + " is";
    bool first = true;
    for (const auto& [value, having] : ranks_of) {
      text += (first ? " " : ", ") + value + " on " + list(having);
      first = false;
    }
  }
  return text;
}

std::string changes(const OptionValues& before, const OptionValues& now) {
  std::string text;
  for (const auto& [name, value] : now) {
    const std::string old = value_of(before, name);
    if (old == value || old == kAbsent) continue;
    text += (text.empty() ? "" : "; ") + name + " was " + old + " and is " + value;
  }
  return text;
}

void require_equal_options(collectives::Group& group, const OptionValues& own) {
  const std::string text = nlohmann::json(own).dump();
  std::vector<OptionValues> ranks;
  for (const auto& bytes : collectives::allgatherv(group, std::as_bytes(std::span(text)))) {
    const std::string_view json(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    ranks.push_back(nlohmann::json::parse(json).get<OptionValues>());
  }
  if (const std::string found = differences(ranks); !found.empty()) {
    throw Error("train",
                "the ranks have different options: " + found + "; start all of them with the same");
  }
}

}  // namespace tandem::training
