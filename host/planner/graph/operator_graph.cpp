// SPDX-License-Identifier: Apache-2.0
//
// Rows of edges by counting, and Kahn's order.
#include "planner/graph/operator_graph.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "common/error.h"

namespace tandem::planner {
namespace {

[[noreturn]] void refuse_graph(const std::string& what) { throw Error("graph", what); }

void check_figure(const OperatorNode& node, const char* what, std::int64_t value) {
  if (value >= 0 && value <= kMostGraphBytes) return;
  refuse_graph("node '" + node.name + "': " + what + " " + std::to_string(value) +
               " is negative or too large");
}

// Begins of rows from the number of entries in each.
std::vector<int> begins_of(const std::vector<int>& counts) {
  std::vector<int> begins{0};
  for (const int count : counts) begins.push_back(begins.back() + count);
  return begins;
}

// Rows of `keys`, entries in their order.
void fill_rows(const std::vector<int>& keys, std::size_t num_rows, std::vector<int>& values,
               std::vector<int>& begin) {
  std::vector<int> counts(num_rows);
  for (const int key : keys) ++counts[static_cast<std::size_t>(key)];
  begin = begins_of(counts);
  std::vector<int> next(begin.begin(), begin.end() - 1);
  values.resize(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    values[static_cast<std::size_t>(next[static_cast<std::size_t>(keys[i])]++)] =
        static_cast<int>(i);
  }
}

}  // namespace

OperatorGraph::OperatorGraph(std::vector<OperatorNode> nodes, std::vector<OperatorEdge> edges)
    : nodes_(std::move(nodes)), edges_(std::move(edges)) {
  check_nodes();
  add_tensors();
  index_edges();
  sort_nodes();
  make_units();
}

void OperatorGraph::check_nodes() {
  if (nodes_.empty()) refuse_graph("the graph has no nodes");
  std::unordered_set<std::string> names;
  for (OperatorNode& node : nodes_) {
    if (!names.insert(node.name).second) {
      refuse_graph("node '" + node.name + "' is there twice");
    }
    check_times(node);
    check_figure(node, "the output", node.output_bytes);
    check_figure(node, "the resident memory", node.resident_bytes);
    check_figure(node, "the workspace", node.workspace_bytes);
    for (const std::int64_t bytes :
         {node.output_bytes, node.resident_bytes, node.workspace_bytes}) {
      add_bytes(bytes);
    }
  }
}

void OperatorGraph::check_times(OperatorNode& node) {
  std::int64_t slowest = node.time_ps;
  if (!node.kind_ps.empty()) {
    const int count = static_cast<int>(node.kind_ps.size());
    if (num_kinds_ > 0 && count != num_kinds_) {
      refuse_graph("node '" + node.name + "' has times of " + std::to_string(count) +
                   " kinds of devices, others of " + std::to_string(num_kinds_));
    }
    num_kinds_ = count;
    for (const std::int64_t time : node.kind_ps) check_figure(node, "the time", time);
    node.time_ps = std::ranges::min(node.kind_ps);
    slowest = std::ranges::max(node.kind_ps);
  }
  check_figure(node, "the time", node.time_ps);
  if (slowest > kMostGraphPs - slowest_ps_) {
    refuse_graph("the nodes take more than ten days together");
  }
  slowest_ps_ += slowest;
  work_ps_ += node.time_ps;
}

// Sums of bytes on one device fit into 64 bits, because a device holds a tensor at most once.
void OperatorGraph::add_bytes(std::int64_t bytes) {
  if (bytes > kMostGraphBytes - all_bytes_) {
    refuse_graph("the nodes and edges have more than " + std::to_string(kMostGraphBytes) +
                 " bytes together");
  }
  all_bytes_ += bytes;
}

void OperatorGraph::add_tensors() {
  for (int id = 0; id < num_nodes(); ++id) tensors_.push_back({id, node(id).output_bytes});
  for (OperatorEdge& edge : edges_) {
    edge.tensor = edge.from;
    if (edge.own_bytes == kOutputOfNode) continue;
    check_figure(node(edge.from), "an edge with bytes", edge.own_bytes);
    add_bytes(edge.own_bytes);
    edge.tensor = static_cast<int>(tensors_.size());
    tensors_.push_back({edge.from, edge.own_bytes});
  }
}

void OperatorGraph::index_edges() {
  std::vector<int> from, to;
  for (const OperatorEdge& edge : edges_) {
    from.push_back(edge.from);
    to.push_back(edge.to);
  }
  fill_rows(from, nodes_.size(), out_, out_begin_);
  fill_rows(to, nodes_.size(), in_, in_begin_);
}

void OperatorGraph::sort_nodes() {
  std::vector<int> num_missing;
  for (int id = 0; id < num_nodes(); ++id) {
    num_missing.push_back(static_cast<int>(in(id).size()));
    if (num_missing.back() == 0) order_.push_back(id);
  }
  for (std::size_t at = 0; at < order_.size(); ++at) {
    for (const int out_edge : out(order_[at])) {
      const int to = edge(out_edge).to;
      if (--num_missing[static_cast<std::size_t>(to)] == 0) order_.push_back(to);
    }
  }
  if (order_.size() != nodes_.size()) refuse_cycle(num_missing);
}

// Goes backwards through waiting nodes until one repeats.
void OperatorGraph::refuse_cycle(const std::vector<int>& num_missing) const {
  const auto waits = [&](int id) { return num_missing[static_cast<std::size_t>(id)] > 0; };
  int at = 0;
  while (!waits(at)) ++at;
  std::vector<int> path;
  std::vector<bool> is_seen(nodes_.size());
  while (!is_seen[static_cast<std::size_t>(at)]) {
    is_seen[static_cast<std::size_t>(at)] = true;
    path.push_back(at);
    at = edge(*std::ranges::find_if(in(at), [&](int id) { return waits(edge(id).from); })).from;
  }
  std::string text = "'" + node(at).name + "'";
  constexpr std::size_t kMostNamed = 8;
  std::size_t named = 0;
  for (auto id = path.rbegin(); id != path.rend(); ++id) {
    if (++named > kMostNamed) {
      text += " -> ...";
      break;
    }
    text += " -> '" + node(*id).name + "'";
    if (*id == at) break;
  }
  refuse_graph("the graph has a cycle: " + text + "; a graph of operators has none");
}

void OperatorGraph::make_units() {
  std::unordered_map<std::string, int> groups;
  std::vector<int> fixed_by;  // the node that fixes the unit's device
  for (int id = 0; id < num_nodes(); ++id) {
    const std::string& group = node(id).group;
    const int fresh = static_cast<int>(unit_device_.size());
    const int unit = group.empty() ? fresh : groups.emplace(group, fresh).first->second;
    if (unit == fresh) {
      unit_device_.push_back(kAnyDevice);
      fixed_by.push_back(id);
    }
    unit_of_.push_back(unit);
    int& device = unit_device_[static_cast<std::size_t>(unit)];
    int& fixer = fixed_by[static_cast<std::size_t>(unit)];
    if (node(id).device == kAnyDevice || node(id).device == device) continue;
    if (device != kAnyDevice) {
      refuse_graph("group '" + group + "': node '" + node(fixer).name + "' is fixed to device " +
                   std::to_string(device) + " and node '" + node(id).name + "' to device " +
                   std::to_string(node(id).device));
    }
    device = node(id).device;
    fixer = id;
  }
  fill_rows(unit_of_, unit_device_.size(), unit_nodes_, unit_begin_);
}

}  // namespace tandem::planner
