// SPDX-License-Identifier: Apache-2.0
//
// JSON of a cost table. Every field is required, so that a table of another form is not read with
// zeros in it.
#include "planner/cost/cost_table_json.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/text_parts.h"

namespace tandem::planner {
namespace {

using nlohmann::json;

constexpr int kVersion = 3;
constexpr std::array kKvTypes = {DType::kF32, DType::kF16, DType::kBF16, DType::kI8,
                                 DType::kF8E4M3};

json json_of(const Curve& curve) {
  json points = json::array();
  for (const CurvePoint& point : curve.points()) points.push_back({point.x, point.y});
  return points;
}

json json_of(const LinkCost& link) {
  return {{"latency_s", link.latency_s}, {"bytes_per_s", link.bytes_per_s}};
}

json json_of(const AttentionCost& cost) {
  return {{"head_group", cost.kind.head_group},   {"kv_dtype", dtype_name(cost.kind.kv_dtype)},
          {"by_tokens", json_of(cost.by_tokens)}, {"per_pair_s", cost.per_pair_s},
          {"per_row_s", cost.per_row_s},          {"rows_per_read", cost.rows_per_read},
          {"correction", cost.correction}};
}

json json_of(const DeviceCost& device) {
  json attention = json::array();
  for (const AttentionCost& cost : device.attention) attention.push_back(json_of(cost));
  return {{"id", device.id},
          {"driver", device.driver},
          {"dense_by_rows", json_of(device.dense_by_rows)},
          {"dense_correction", device.dense_correction},
          {"attention", attention},
          {"to_device", json_of(device.to_device)},
          {"from_device", json_of(device.from_device)},
          {"launch_s", device.launch_s},
          {"merge_row_s", device.merge_row_s},
          {"causal_pair_s", device.causal_pair_s},
          {"sampling_s", device.sampling_s},
          {"sampling_row_s", device.sampling_row_s},
          {"page_move_s", device.page_move_s}};
}

// Not negative and finite.
double amount(const json& object, const char* name) {
  const double value = object.at(name).get<double>();
  if (!std::isfinite(value) || value < 0) {
    throw Error("cost model", std::string(name) + " must be a positive number or 0");
  }
  return value;
}

double factor(const json& object, const char* name) {
  const double value = amount(object, name);
  if (value == 0) throw Error("cost model", std::string(name) + " must be above 0");
  return value;
}

Curve curve_of(const json& list) {
  std::vector<CurvePoint> points;
  for (const json& point : list) {
    points.push_back({point.at(0).get<double>(), point.at(1).get<double>()});
  }
  return Curve(std::move(points));
}

LinkCost link_of(const json& object) {
  return {amount(object, "latency_s"), amount(object, "bytes_per_s")};
}

DType kv_type_of(const std::string& name) {
  for (const DType type : kKvTypes) {
    if (dtype_name(type) == name) return type;
  }
  throw Error("cost model", "no KV type is called '" + name + "'");
}

AttentionCost attention_of(const json& object) {
  AttentionCost cost;
  cost.kind = {object.at("head_group").get<int>(),
               kv_type_of(object.at("kv_dtype").get<std::string>())};
  cost.by_tokens = curve_of(object.at("by_tokens"));
  cost.per_pair_s = amount(object, "per_pair_s");
  cost.per_row_s = amount(object, "per_row_s");
  cost.rows_per_read = object.at("rows_per_read").get<int>();
  cost.correction = factor(object, "correction");
  if (cost.kind.head_group < 1 || cost.rows_per_read < 1) {
    throw Error("cost model", "head_group and rows_per_read must be positive");
  }
  return cost;
}

DeviceCost device_of(const json& object) {
  DeviceCost device;
  device.id = object.at("id").get<std::string>();
  device.driver = object.at("driver").get<std::string>();
  device.dense_by_rows = curve_of(object.at("dense_by_rows"));
  device.dense_correction = factor(object, "dense_correction");
  for (const json& cost : object.at("attention")) device.attention.push_back(attention_of(cost));
  device.to_device = link_of(object.at("to_device"));
  device.from_device = link_of(object.at("from_device"));
  device.launch_s = amount(object, "launch_s");
  device.merge_row_s = amount(object, "merge_row_s");
  device.causal_pair_s = amount(object, "causal_pair_s");
  device.sampling_s = amount(object, "sampling_s");
  device.sampling_row_s = amount(object, "sampling_row_s");
  device.page_move_s = amount(object, "page_move_s");
  return device;
}

CostTable table_of(std::string_view text) {
  const json object = json::parse(text);
  if (object.at("version").get<int>() != kVersion) {
    throw Error("cost model", "its version is not " + std::to_string(kVersion));
  }
  CostTable table;
  table.key = {object.at("machine").get<std::string>(), object.at("model").get<std::string>(),
               object.at("options").get<std::string>()};
  for (const json& device : object.at("devices")) table.devices.push_back(device_of(device));
  return table;
}

std::string differs(const char* what, const std::string& has, const std::string& wanted) {
  return std::string("the table is of another ") + what + ": '" + has + "', not '" + wanted + "'";
}

std::string refusal_of(const CostTable& table, const WantedCosts& wanted) {
  if (table.key.machine != wanted.key.machine) {
    return differs("machine", table.key.machine, wanted.key.machine);
  }
  if (table.key.model != wanted.key.model)
    return differs("model", table.key.model, wanted.key.model);
  if (table.key.options != wanted.key.options) {
    return differs("set of options", table.key.options, wanted.key.options);
  }
  for (const auto& [id, driver] : wanted.drivers) {
    const DeviceCost* device = table.find(id);
    if (device == nullptr) return "the table has no device " + id;
    if (device->driver != driver) {
      return differs(("driver of " + id).c_str(), device->driver, driver);
    }
  }
  if (table.devices.size() != wanted.drivers.size()) return "the table has devices that are gone";
  return {};
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string write_cost_table(const CostTable& table) {
  json devices = json::array();
  for (const DeviceCost& device : table.devices) devices.push_back(json_of(device));
  const json object = {{"version", kVersion},
                       {"machine", table.key.machine},
                       {"model", table.key.model},
                       {"options", table.key.options},
                       {"devices", devices}};
  return object.dump(1) + "\n";
}

CostTableRead read_cost_table(std::string_view text) {
  try {
    return {table_of(text), {}};
  } catch (const std::exception& error) {
    return {std::nullopt,
            "the table cannot be read: " + first_line(std::string(without_tag(error.what())))};
  }
}

CostTableRead read_cost_table(std::string_view text, const WantedCosts& wanted) {
  CostTableRead read = read_cost_table(text);
  if (!read.table) return read;
  read.refusal = refusal_of(*read.table, wanted);
  if (!read.refusal.empty()) read.table.reset();
  return read;
}

}  // namespace tandem::planner
