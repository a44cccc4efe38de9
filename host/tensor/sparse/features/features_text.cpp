// SPDX-License-Identifier: Apache-2.0
//
// One table of names and fields for all forms.
#include "tensor/sparse/features/features_text.h"

#include <array>
#include <utility>

#include "common/error.h"
#include "common/xml_text.h"

namespace tandem::sparse {
namespace {

using Json = nlohmann::ordered_json;

// Calls visit(name, field) for each field.
template <typename Counts, typename Visit>
void visit_counts(Counts& counts, const Visit& visit) {
  visit("all", counts.all);
  visit("nonempty", counts.nonempty);
  visit("density", counts.density);
  visit("max", counts.max);
  visit("min", counts.min);
  visit("deviation", counts.deviation);
  visit("sum", counts.sum);
  visit("average", counts.average);
  visit("imbalance", counts.imbalance);
  visit("standard_deviation", counts.standard_deviation);
  visit("cv", counts.cv);
  visit("average_nonempty", counts.average_nonempty);
  visit("imbalance_nonempty", counts.imbalance_nonempty);
  visit("standard_deviation_nonempty", counts.standard_deviation_nonempty);
  visit("cv_nonempty", counts.cv_nonempty);
}

template <typename Features, typename Visit>
void visit_whole(Features& features, const Visit& visit) {
  visit("nnz", features.num_entries);
  visit("density", features.density);
  visit("slices", features.slices);
  visit("fibers", features.fibers);
  visit("nonempty_slices", features.nonempty_slices);
  visit("nonempty_fibers", features.nonempty_fibers);
  visit("slice_density", features.slice_density);
  visit("fiber_density", features.fiber_density);
}

constexpr std::array kKinds{CountKind::kEntriesPerSlice, CountKind::kEntriesPerFiber,
                            CountKind::kFibersPerSlice};

CountKind kind_named(const std::string& name) {
  for (const CountKind kind : kKinds) {
    if (name == count_kind_name(kind)) return kind;
  }
  throw Error("tensor", "features: '" + name + "' is not a kind of row");
}

// nlohmann_json makes large numbers of negative ones, and integers of fractions.
void check_count(const nlohmann::json& json) {
  if (!json.is_number_unsigned()) throw nlohmann::json::type_error::create(302, "no count", &json);
}

void take(const nlohmann::json& json, double& to) { json.get_to(to); }
void take(const nlohmann::json& json, std::string& to) { json.get_to(to); }
void take(const nlohmann::json& json, std::vector<nlohmann::json>& to) { json.get_to(to); }
void take(const nlohmann::json& json, std::uint64_t& to) {
  check_count(json);
  json.get_to(to);
}
void take(const nlohmann::json& json, std::vector<std::uint64_t>& to) {
  for (const nlohmann::json& each : json) check_count(each);
  json.get_to(to);
}

// Throws Error where the field is missing or of another type.
template <typename Value>
void read_field(const nlohmann::json& json, const char* name, Value& to) {
  try {
    take(json.at(name), to);
  } catch (const nlohmann::json::exception&) {
    throw Error("tensor", std::string("features: the field '") + name +
                              "' is missing or has another type; `tandem tensor features --json` "
                              "writes it");
  }
}

std::string modes_text(const std::vector<std::size_t>& modes) {
  std::string text;
  for (const std::size_t mode : modes) {
    text += text.empty() ? "" : "-";
    text += std::to_string(mode);
  }
  return text;
}

std::string number_text(const Json& number) { return number.dump(); }

std::string sizes_text(const TensorFeatures& features) {
  std::string text;
  for (const std::uint64_t size : features.sizes) {
    text += text.empty() ? "" : "x";
    text += std::to_string(size);
  }
  return text;
}

// Cells of a table, row by row: names first.
using Table = std::vector<std::vector<std::string>>;

Table whole_table(const TensorFeatures& features) {
  Table table{{"order", "sizes"}, {std::to_string(features.sizes.size()), sizes_text(features)}};
  visit_whole(features, [&](const char* name, const auto& field) {
    table[0].push_back(name);
    table[1].push_back(number_text(field));
  });
  return table;
}

Table rows_table(const TensorFeatures& features) {
  Table table{{"kind", "modes"}};
  const CountSummary none;
  visit_counts(none, [&](const char* name, const auto&) { table[0].push_back(name); });
  for (const FeatureRow& row : features.rows) {
    table.push_back({count_kind_name(row.kind), modes_text(row.modes)});
    visit_counts(row.counts, [&](const char*, const auto& field) {
      table.back().push_back(number_text(field));
    });
  }
  return table;
}

std::string csv_of(const Table& table) {
  std::string text;
  for (const auto& row : table) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + row[i];
    text += '\n';
  }
  return text;
}

std::string html_of(const Table& table) {
  std::string text = "<table>\n";
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string tag = row == 0 ? "th" : "td";
    text += "<tr>";
    for (const std::string& cell : table[row]) {
      text += "<" + tag + ">" + xml_text(cell) + "</" + tag + ">";
    }
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

}  // namespace

Json features_json(const TensorFeatures& features) {
  Json json{{"order", features.sizes.size()}, {"sizes", features.sizes}};
  visit_whole(features, [&](const char* name, const auto& field) { json[name] = field; });
  json["rows"] = Json::array();
  for (const FeatureRow& row : features.rows) {
    Json counts{{"kind", count_kind_name(row.kind)}, {"modes", row.modes}};
    visit_counts(row.counts, [&](const char* name, const auto& field) { counts[name] = field; });
    json["rows"].push_back(std::move(counts));
  }
  return json;
}

TensorFeatures features_from_json(const nlohmann::json& json) {
  TensorFeatures features;
  std::size_t order = 0;
  read_field(json, "sizes", features.sizes);
  read_field(json, "order", order);
  if (order != features.sizes.size()) {
    throw Error("tensor", "features: the order is " + std::to_string(order) + ", and there are " +
                              std::to_string(features.sizes.size()) + " sizes");
  }
  visit_whole(features, [&](const char* name, auto& field) { read_field(json, name, field); });
  std::vector<nlohmann::json> rows;
  read_field(json, "rows", rows);
  for (const nlohmann::json& each : rows) {
    FeatureRow row;
    std::string kind;
    read_field(each, "kind", kind);
    row.kind = kind_named(kind);
    read_field(each, "modes", row.modes);
    visit_counts(row.counts, [&](const char* name, auto& field) { read_field(each, name, field); });
    features.rows.push_back(std::move(row));
  }
  return features;
}

std::string features_csv(const TensorFeatures& features) {
  return csv_of(whole_table(features)) + "\n" + csv_of(rows_table(features));
}

std::string features_html(const std::string& title, const TensorFeatures& features,
                          std::span<const std::string> drawings) {
  std::string text =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>" +
      xml_text(title) +
      "</title><style>body{font-family:sans-serif}td,th{padding:2px 8px;text-align:right}"
      "</style></head>\n<body>\n<h1>" +
      xml_text(title) + "</h1>\n";
  text += html_of(whole_table(features)) + html_of(rows_table(features));
  for (const std::string& drawing : drawings) text += drawing + "\n";
  return text + "</body>\n</html>\n";
}

}  // namespace tandem::sparse
