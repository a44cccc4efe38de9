// SPDX-License-Identifier: Apache-2.0
//
// OperatorGraph: operators with their times and memory, and the tensors that they exchange.
//
// Every node has one output, which all edges without own bytes carry. An edge with own bytes is a
// separate tensor for one consumer. A tensor is sent once to a device, even if it has several
// consumers there. Times are whole picoseconds, one per kind of device if kinds differ. Nodes of a
// group are placed on one device; a node may be fixed to a device. Threads: immutable values.
// Errors: Error that names the nodes of a cycle, a duplicate name, a negative or too large figure,
// a group on two devices, or times for a different number of kinds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tandem::planner {

constexpr std::int64_t kPicosecondsPerMicrosecond = 1'000'000;
// Limit of the sum over all nodes, so that sums along paths fit into 64 bits.
constexpr std::int64_t kMostGraphPs = std::int64_t{1} << 60;
// Limit of the sum over all nodes and edges, so that sums of a device fit into 64 bits.
constexpr std::int64_t kMostGraphBytes = std::int64_t{1} << 60;
constexpr int kAnyDevice = -1;

struct OperatorNode {
  std::string name;
  std::int64_t time_ps = 0;           // with kind_ps the least of them; set by the graph
  std::vector<std::int64_t> kind_ps;  // per kind of device; empty: the same on all
  std::int64_t output_bytes = 0;      // held from its start until its last consumer ends
  std::int64_t resident_bytes = 0;    // held all the time: weights, state
  std::int64_t workspace_bytes = 0;   // held while it runs
  std::string group;                  // empty: no group
  int device = kAnyDevice;
};

constexpr std::int64_t kOutputOfNode = -1;

struct OperatorEdge {
  int from = 0, to = 0;
  std::int64_t own_bytes = kOutputOfNode;
  int tensor = 0;  // set by the graph
};

struct OperatorTensor {
  int producer = 0;
  std::int64_t bytes = 0;
};

class OperatorGraph {
 public:
  OperatorGraph(std::vector<OperatorNode> nodes, std::vector<OperatorEdge> edges);

  int num_nodes() const { return static_cast<int>(nodes_.size()); }
  const OperatorNode& node(int id) const { return nodes_[static_cast<std::size_t>(id)]; }
  const OperatorEdge& edge(int id) const { return edges_[static_cast<std::size_t>(id)]; }
  std::int64_t edge_bytes(int id) const {
    return tensors_[static_cast<std::size_t>(edge(id).tensor)].bytes;
  }
  int num_edges() const { return static_cast<int>(edges_.size()); }
  // The first num_nodes() tensors are the outputs of the nodes.
  const std::vector<OperatorTensor>& tensors() const { return tensors_; }

  // Ids of edges.
  std::span<const int> in(int node) const { return row(in_, in_begin_, node); }
  std::span<const int> out(int node) const { return row(out_, out_begin_, node); }

  // The nodes in topological order: producers first.
  const std::vector<int>& order() const { return order_; }

  // A unit is a set of nodes on one device: a group, or a single node.
  int num_units() const { return static_cast<int>(unit_begin_.size()) - 1; }
  int unit_of(int node) const { return unit_of_[static_cast<std::size_t>(node)]; }
  std::span<const int> unit(int id) const { return row(unit_nodes_, unit_begin_, id); }
  int device_of_unit(int id) const { return unit_device_[static_cast<std::size_t>(id)]; }

  // The sum over all nodes of the time on the fastest kind.
  std::int64_t work_ps() const { return work_ps_; }
  // `kind` is below num_kinds().
  std::int64_t time_ps(int id, int kind) const {
    const OperatorNode& each = node(id);
    return each.kind_ps.empty() ? each.time_ps : each.kind_ps[static_cast<std::size_t>(kind)];
  }
  int num_kinds() const { return std::max(1, num_kinds_); }  // 1 if kinds do not differ

 private:
  static std::span<const int> row(const std::vector<int>& values, const std::vector<int>& begin,
                                  int at) {
    const auto first = static_cast<std::size_t>(begin[static_cast<std::size_t>(at)]);
    const auto last = static_cast<std::size_t>(begin[static_cast<std::size_t>(at) + 1]);
    return {values.data() + first, last - first};
  }
  void check_nodes();
  void check_times(OperatorNode& node);
  void add_bytes(std::int64_t bytes);
  void add_tensors();
  void index_edges();
  void sort_nodes();
  [[noreturn]] void refuse_cycle(const std::vector<int>& num_missing) const;
  void make_units();

  std::vector<OperatorNode> nodes_;
  std::vector<OperatorEdge> edges_;
  std::vector<OperatorTensor> tensors_;
  std::vector<int> in_, out_, in_begin_, out_begin_, order_;
  std::vector<int> unit_of_, unit_nodes_, unit_begin_, unit_device_;
  std::int64_t work_ps_ = 0, all_bytes_ = 0;
  std::int64_t slowest_ps_ = 0;  // the sum over all nodes of the time on the slowest kind
  int num_kinds_ = 0;            // of nodes with times per kind
};

}  // namespace tandem::planner
