// SPDX-License-Identifier: Apache-2.0
//
// RecommenderConfig: the sizes of a recommender to train. Its inputs are numbers and bags of table
// rows, its output is the odds of a click.
//
// TOML: kind = "recommender", dense (numbers of a sample), width (of rows), rows (of each table; a
// single number applies to all `tables`), bag (rows per table of a synthetic sample), bottom and
// top (widths of the hidden layers), name. Threads: pure. Errors: those of FieldReader. Source:
// Naumov et al. 2019 (DLRM).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "training/trainer/parameter_set.h"

namespace tandem::training {

struct RecommenderConfig {
  std::string name = "recommender";
  int dense = 13, width = 16, bag = 1;
  std::vector<int> rows;  // by table
  std::vector<int> bottom = {64, 32}, top = {64, 32};

  int tables() const { return static_cast<int>(rows.size()); }
  // The number of pairs among the bottom's result and the bags.
  int num_dots() const { return (tables() + 1) * tables() / 2; }
};

RecommenderConfig read_recommender_config(const std::string& path);

// The form in a checkpoint.
nlohmann::ordered_json to_json(const RecommenderConfig& config);
RecommenderConfig recommender_of_json(const nlohmann::json& json);

// bottom.0.weight [out, in], bottom.0.bias [out], ...; top likewise.
std::vector<ParameterSpec> recommender_parameters(const RecommenderConfig& config);

// "table.3"
std::string table_name(int table);

}  // namespace tandem::training
