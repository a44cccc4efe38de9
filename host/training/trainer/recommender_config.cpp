// SPDX-License-Identifier: Apache-2.0
//
// The bottom ends with a layer of the rows' width, the top with one number.
#include "training/trainer/recommender_config.h"

#include <cmath>

#include "training/trainer/config_fields.h"

namespace tandem::training {
namespace {

constexpr int kMostRows = 1 << 30;
constexpr int kMostTables = 1000;
constexpr int kMostLayer = 1 << 16;
constexpr int kMostBag = 1000;

void add_layers(const std::string& part, int in, const std::vector<int>& widths,
                std::vector<ParameterSpec>& specs) {
  for (std::size_t layer = 0; layer < widths.size(); ++layer) {
    const int out = widths[layer];
    const std::string name = part + "." + std::to_string(layer);
    specs.push_back(
        {name + ".weight", {out, in}, static_cast<float>(std::sqrt(2.0 / (in + out))), 0});
    specs.push_back({name + ".bias", {out}, 0, 0});
    in = out;
  }
}

}  // namespace

RecommenderConfig read_recommender_config(const std::string& path) {
  FieldReader reader = read_fields(path);
  RecommenderConfig config;
  std::string kind;
  int tables = 0;
  reader.take("kind", kind);
  reader.take("name", config.name);
  reader.take("dense", config.dense, false, kMostLayer);
  reader.take("width", config.width, false, kMostLayer);
  reader.take("bag", config.bag, false, kMostBag);
  reader.take("tables", tables, false, kMostTables);
  reader.take("rows", config.rows, kMostRows);
  reader.take("bottom", config.bottom, kMostLayer);
  reader.take("top", config.top, kMostLayer);
  reader.refuse_others();
  if (config.rows.empty()) reader.fail("rows", "is missing: the rows of each table");
  if (tables > 0 && config.rows.size() == 1) {
    config.rows.assign(static_cast<std::size_t>(tables), config.rows.front());
  }
  if (tables > 0 && config.tables() != tables) {
    reader.fail("tables", "is " + std::to_string(tables) + ", but rows lists " +
                              std::to_string(config.tables()));
  }
  if (config.tables() > kMostTables) {
    reader.fail("rows", "lists more than " + std::to_string(kMostTables) + " tables");
  }
  return config;
}

nlohmann::ordered_json to_json(const RecommenderConfig& config) {
  return {{"name", config.name}, {"dense", config.dense}, {"width", config.width},
          {"bag", config.bag},   {"rows", config.rows},   {"bottom", config.bottom},
          {"top", config.top}};
}

RecommenderConfig recommender_of_json(const nlohmann::json& json) {
  RecommenderConfig config;
  json.at("name").get_to(config.name);
  json.at("dense").get_to(config.dense);
  json.at("width").get_to(config.width);
  json.at("bag").get_to(config.bag);
  json.at("rows").get_to(config.rows);
  json.at("bottom").get_to(config.bottom);
  json.at("top").get_to(config.top);
  return config;
}

std::vector<ParameterSpec> recommender_parameters(const RecommenderConfig& config) {
  std::vector<ParameterSpec> specs;
  std::vector<int> bottom = config.bottom, top = config.top;
  bottom.push_back(config.width);
  top.push_back(1);
  add_layers("bottom", config.dense, bottom, specs);
  add_layers("top", config.width + config.num_dots(), top, specs);
  return specs;
}

std::string table_name(int table) { return "table." + std::to_string(table); }

}  // namespace tandem::training
