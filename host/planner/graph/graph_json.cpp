// SPDX-License-Identifier: Apache-2.0
//
// Fields by their names; unknown ones are refused, since they are mistyped.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/error.h"
#include "common/text_parts.h"
#include "planner/graph/graph_files.h"

namespace tandem::planner {
namespace {

using nlohmann::json;

[[noreturn]] void refuse_json(const std::string& what) { throw Error("graph-json", what); }

void check_keys(const json& object, std::initializer_list<std::string_view> known,
                const std::string& where) {
  if (!object.is_object()) refuse_json(where + " is not an object");
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) == known.end()) {
      refuse_json(where + " has the field '" + key + "', which nothing reads");
    }
  }
}

const json& array_of(const json& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_array()) {
    refuse_json(std::string("the file has no array '") + key + "'");
  }
  return object[key];
}

// Compared as unsigned numbers, because JSON's own comparison treats numbers from 2^63 on as
// negative.
bool is_at_most(const json& value, std::int64_t most) {
  return value.is_number_unsigned() &&
         value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
}

std::int64_t bytes_of(const json& value, const std::string& where) {
  if (is_at_most(value, kMostGraphBytes)) return value.get<std::int64_t>();
  refuse_json(where + " is " + value.dump() + ", not a number of bytes");
}

std::int64_t bytes_of(const json& object, const char* key, const std::string& where) {
  return object.contains(key) ? bytes_of(object[key], where + ": '" + key + "'") : 0;
}

std::int64_t time_of(const json& value, const std::string& where) {
  const double us = value.is_number() ? value.get<double>() : -1;
  if (!(us >= 0) || us * kPicosecondsPerMicrosecond > static_cast<double>(kMostGraphPs)) {
    refuse_json(where + " is " + value.dump() + ", not a time");
  }
  return std::llround(us * kPicosecondsPerMicrosecond);
}

void read_times(const json& object, const std::vector<std::string>& kinds, const std::string& where,
                OperatorNode& node) {
  if (!object.contains("us")) refuse_json(where + " has no time: give it \"us\"");
  const json& times = object["us"];
  if (!times.is_object()) {
    node.time_ps = time_of(times, where + ": 'us'");
    return;
  }
  if (kinds.empty()) {
    refuse_json(where +
                ": 'us' has times by kind of device; name the kinds that there are, as in " +
                "--devices 2xgpu,cpu");
  }
  for (const auto& [kind, value] : times.items())
    time_of(value, where + ": 'us' of '" + kind + "'");
  for (const std::string& kind : kinds) {
    if (!times.contains(kind)) refuse_json(where + ": 'us' has no time of kind '" + kind + "'");
    node.kind_ps.push_back(time_of(times[kind], where));
  }
}

std::string text_of(const json& object, const char* key, const std::string& where) {
  if (!object.contains(key)) return {};
  if (!object[key].is_string()) refuse_json(where + ": '" + key + "' is not text");
  return object[key].get<std::string>();
}

OperatorNode node_of(const json& object, const std::vector<std::string>& kinds,
                     const std::string& where) {
  check_keys(object,
             {"name", "us", "output_bytes", "resident_bytes", "workspace_bytes", "group", "device"},
             where);
  OperatorNode node;
  node.name = text_of(object, "name", where);
  if (node.name.empty()) refuse_json(where + " has no name");
  const std::string named = "node '" + node.name + "'";
  read_times(object, kinds, named, node);
  node.output_bytes = bytes_of(object, "output_bytes", named);
  node.resident_bytes = bytes_of(object, "resident_bytes", named);
  node.workspace_bytes = bytes_of(object, "workspace_bytes", named);
  node.group = text_of(object, "group", named);
  if (object.contains("device")) {
    const json& device = object["device"];
    if (!is_at_most(device, 1'000'000)) {
      refuse_json(named + ": 'device' is " + device.dump() + ", not the number of a device");
    }
    node.device = device.get<int>();
  }
  return node;
}

class EdgeReader {
 public:
  explicit EdgeReader(const std::vector<OperatorNode>& nodes) : num_nodes_(nodes.size()) {
    for (std::size_t id = 0; id < nodes.size(); ++id) {
      ids_.emplace(nodes[id].name, static_cast<int>(id));
    }
  }

  OperatorEdge read(const json& value, const std::string& where) const {
    OperatorEdge edge;
    if (value.is_array() && (value.size() == 2 || value.size() == 3)) {
      edge.from = end_of(value[0], where);
      edge.to = end_of(value[1], where);
      if (value.size() == 3) edge.own_bytes = bytes_of(value[2], where + ": the third entry");
      return edge;
    }
    if (!value.is_object()) refuse_json(where + " is neither [from, to, bytes] nor an object");
    check_keys(value, {"from", "to", "bytes"}, where);
    for (const char* key : {"from", "to"}) {
      if (!value.contains(key)) refuse_json(where + " has no '" + key + "'");
    }
    edge.from = end_of(value["from"], where);
    edge.to = end_of(value["to"], where);
    if (value.contains("bytes")) edge.own_bytes = bytes_of(value, "bytes", where);
    return edge;
  }

 private:
  int end_of(const json& value, const std::string& where) const {
    if (value.is_number_unsigned() && value < num_nodes_) return value.get<int>();
    if (value.is_string()) {
      const auto found = ids_.find(value.get<std::string>());
      if (found != ids_.end()) return found->second;
    }
    refuse_json(where + " names the node " + value.dump() + ", which is not there");
  }

  std::size_t num_nodes_;
  std::unordered_map<std::string, int> ids_;
};

}  // namespace

OperatorGraph read_graph_json(std::istream& in, const std::vector<std::string>& kinds) {
  json root;
  try {
    root = json::parse(in);
  } catch (const json::exception& error) {
    refuse_json("the file is not JSON: " + std::string(without_tag(error.what())));
  }
  std::vector<OperatorNode> nodes;
  for (const json& value : array_of(root, "nodes")) {
    nodes.push_back(node_of(value, kinds, "node " + std::to_string(nodes.size())));
  }
  const EdgeReader reader(nodes);
  std::vector<OperatorEdge> edges;
  for (const json& value : array_of(root, "edges")) {
    edges.push_back(reader.read(value, "edge " + std::to_string(edges.size())));
  }
  return OperatorGraph(std::move(nodes), std::move(edges));
}

}  // namespace tandem::planner
