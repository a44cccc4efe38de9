// SPDX-License-Identifier: Apache-2.0
//
// One object per model: names, then values, then times, memory and edges.
#include "planner/onnx/onnx_graph.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "common/error.h"
#include "planner/graph/named_values.h"

namespace tandem::planner {
namespace {

constexpr std::int64_t kMostCopiedBytes = std::int64_t{1} << 20;  // of a shared weight
constexpr double kPicosecondsPerSecond = 1e12;

std::size_t slot_of(int id) { return static_cast<std::size_t>(id); }

std::vector<std::string> unique_names(const OnnxModel& model) {
  std::unordered_set<std::string> taken;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    const OnnxNode& node = model.nodes[i];
    std::string name = node.name.empty() ? node.op_type + "_" + std::to_string(i) : node.name;
    // A number of the file's own may be taken too.
    for (int more = 2; taken.contains(name); ++more) {
      name = (node.name.empty() ? node.op_type : node.name) + "_" + std::to_string(i) + "_" +
             std::to_string(more);
    }
    taken.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

// Sets of nodes that must be on one device.
class TiedNodes {
 public:
  explicit TiedNodes(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int find(int node) {
    while (parent_[slot_of(node)] != node) {
      parent_[slot_of(node)] = parent_[slot_of(parent_[slot_of(node)])];
      node = parent_[slot_of(node)];
    }
    return node;
  }
  void tie(int left, int right) { parent_[slot_of(find(right))] = find(left); }

 private:
  std::vector<int> parent_;
};

class OnnxGraphMaker {
 public:
  OnnxGraphMaker(const OnnxModel& model, const OnnxOptions& options)
      : model_(model),
        names_(unique_names(model)),
        shapes_(model, names_, options.sizes),
        tied_(model.nodes.size()) {
    for (std::size_t i = 0; i < model.nodes.size(); ++i) add_node(i);
    for (const OnnxDevice& device : options.devices) add_times(device);
    if (options.devices.size() == 1) use_one_kind();
    find_values();
    for (std::size_t i = 0; i < model.nodes.size(); ++i) add_inputs(static_cast<int>(i));
    place_weights();
    name_groups();
  }

  OnnxGraph finish() {
    return {OperatorGraph(std::move(nodes_), std::move(edges_)), shapes_.unnamed(),
            static_cast<int>(without_shape_.size())};
  }

 private:
  struct Source {
    int node = -1;  // none: a weight, a constant or an input of the model
    int output = 0;
    std::int64_t weight_bytes = 0;
  };

  void add_node(std::size_t at) {
    const OnnxNode& from = model_.nodes[at];
    OperatorNode node;
    node.name = names_[at];
    node.resident_bytes = from.body_bytes;
    if (!from.outputs.empty() && from.op_type != "Constant") {
      node.output_bytes = shapes_.bytes(from.outputs[0]);
    }
    nodes_.push_back(std::move(node));
  }

  static std::int64_t checked_ps(const OperatorNode& node, double time_ps) {
    if (time_ps > static_cast<double>(kMostGraphPs)) {
      throw Error("onnx", "node '" + node.name + "' would take more than ten days");
    }
    return std::llround(time_ps);
  }

  void add_times(const OnnxDevice& device) {
    const OnnxCosts costs(device_preset(device.sheet));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const OnnxCall call = shapes_.call(model_.nodes[i], names_[i]);
      const double seconds = costs.seconds(call, shapes_);
      nodes_[i].kind_ps.push_back(checked_ps(nodes_[i], seconds * kPicosecondsPerSecond));
    }
    if (device.times != nullptr) read_times(device);
  }

  void use_one_kind() {
    for (OperatorNode& node : nodes_) {
      node.time_ps = node.kind_ps.front();
      node.kind_ps.clear();
    }
  }

  // Replaces the times of the previous kind.
  void read_times(const OnnxDevice& device) {
    std::unordered_map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < names_.size(); ++i) places.emplace(names_[i], i);
    const NamedValuesSource source{"onnx", device.times_file};
    read_named_values(*device.times, source,
                      [&](const std::string& name, double us, std::int64_t line) {
                        const auto found = places.find(name);
                        if (found == places.end()) {
                          source.refuse(line, "the model has no node '" + name + "'");
                        }
                        OperatorNode& node = nodes_[found->second];
                        node.kind_ps.back() = checked_ps(node, us * kPicosecondsPerMicrosecond);
                      });
  }

  void add_source(const std::string& name, const Source& source, const std::string& field) {
    if (name.empty()) return;
    if (!sources_.emplace(name, source).second) {
      throw Error("onnx", field + ": the value '" + name + "' is made twice");
    }
  }

  void find_values() {
    for (std::size_t i = 0; i < model_.initializers.size(); ++i) {
      const std::string& name = model_.initializers[i].name;
      add_source(name, {-1, 0, shapes_.bytes(name)},
                 "graph.initializer[" + std::to_string(i) + "]");
    }
    // Files before version 4 list weights among the inputs.
    for (const OnnxValue& input : model_.inputs) sources_.emplace(input.name, Source());
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
      const OnnxNode& node = model_.nodes[i];
      const bool is_constant = node.op_type == "Constant";
      for (std::size_t out = 0; out < node.outputs.size(); ++out) {
        Source source{static_cast<int>(i), static_cast<int>(out), 0};
        if (is_constant) source = {-1, 0, shapes_.bytes(node.outputs[out])};
        add_source(node.outputs[out], source, "graph.node[" + std::to_string(i) + "].output");
        if (is_constant && !node.outputs[out].empty())
          users_[node.outputs[out]].push_back(static_cast<int>(i));
      }
    }
  }

  void add_inputs(int id) {
    const OnnxNode& node = model_.nodes[slot_of(id)];
    std::unordered_set<std::string_view> seen;
    for (const std::string& name : node.inputs) {
      if (name.empty() || !seen.insert(name).second) continue;
      const auto source = sources_.find(name);
      if (source == sources_.end()) {
        throw Error("onnx", "graph.node[" + std::to_string(id) + "].input: the value '" + name +
                                "' of node '" + names_[slot_of(id)] + "' is made by no node");
      }
      add_input(id, name, source->second);
    }
    // Names of a body's own are not there.
    for (const std::string& name : node.body_inputs) {
      const auto source = sources_.find(name);
      if (source != sources_.end() && seen.insert(name).second) add_input(id, name, source->second);
    }
  }

  void add_input(int id, const std::string& name, const Source& source) {
    if (source.node < 0) {
      if (source.weight_bytes > 0) users_[name].push_back(id);
      return;
    }
    OperatorEdge edge;
    edge.from = source.node;
    edge.to = id;
    if (source.output > 0) edge.own_bytes = shapes_.bytes(name);
    if (shapes_.find(name) == nullptr) without_shape_.insert(name);
    edges_.push_back(edge);
  }

  void place_weights() {
    for (const auto& [name, users] : users_) {
      std::span<const int> consumers = users;
      if (model_.nodes[slot_of(users.front())].op_type == "Constant") {
        consumers = consumers.subspan(1);
        if (!consumers.empty()) tied_.tie(users.front(), consumers.front());
      }
      const std::int64_t bytes = sources_.at(name).weight_bytes;
      const bool is_one = bytes > kMostCopiedBytes;
      for (const int id : consumers) {
        if (is_one) tied_.tie(consumers.front(), id);
        if (!is_one || id == consumers.front()) nodes_[slot_of(id)].resident_bytes += bytes;
      }
    }
  }

  void name_groups() {
    std::vector<int> counts(nodes_.size());
    for (int id = 0; id < static_cast<int>(nodes_.size()); ++id) {
      ++counts[slot_of(tied_.find(id))];
    }
    for (int id = 0; id < static_cast<int>(nodes_.size()); ++id) {
      const auto root = slot_of(tied_.find(id));
      if (counts[root] > 1) nodes_[slot_of(id)].group = names_[root];
    }
  }

  const OnnxModel& model_;
  std::vector<std::string> names_;
  OnnxShapes shapes_;
  TiedNodes tied_;
  std::vector<OperatorNode> nodes_;
  std::vector<OperatorEdge> edges_;
  std::unordered_map<std::string, Source> sources_;
  // users of weights and constants; a constant comes first
  std::map<std::string, std::vector<int>> users_;
  std::set<std::string> without_shape_;
};

}  // namespace

OnnxGraph read_graph_onnx(std::string_view file, const OnnxOptions& options) {
  const OnnxModel model = read_onnx_model(file);
  return OnnxGraphMaker(model, options).finish();
}

}  // namespace tandem::planner
