// SPDX-License-Identifier: Apache-2.0
//
// OperatorGraph: operators with times and memory, and the tensors that pass between them.
//
// Every node has an output: its first consumer is an edge without bytes of its own. An edge with
// bytes of its own is a tensor for one consumer. A tensor that several consumers on one device
// share goes there once. Times are whole picoseconds, where kinds of devices differ one per kind.
// Nodes of one group lie on one device; a node may be fixed to a device. Threads: immutable values.
// Errors: Error naming nodes: a cycle, a name twice, a negative or too large figure, a group on two
// devices, times of more or fewer kinds than other nodes have.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tandem::planner {

constexpr std::int64_t kPicosecondsPerMicrosecond = 1'000'000;
// Of all nodes together, so that sums along paths stay within 64 bits.
constexpr std::int64_t kMostGraphPs = std::int64_t{1} << 60;
// Of all nodes and edges together, so that sums of a device stay within 64 bits.
constexpr std::int64_t kMostGraphBytes = std::int64_t{1} << 60;
constexpr int kAnyDevice = -1;

struct OperatorNode {
  std::string name;
  std::int64_t time_ps = 0;           // with kind_ps the least of them: set by the graph
  std::vector<std::int64_t> kind_ps;  // by kind of device; empty: the same on each
  std::int64_t output_bytes = 0;      // from its start until the last consumer has ended
  std::int64_t resident_bytes = 0;    // for good: weights, state
  std::int64_t workspace_bytes = 0;   // while it runs
  std::string group;                  // empty: alone
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
  // The first num_nodes() are the outputs of the nodes.
  const std::vector<OperatorTensor>& tensors() const { return tensors_; }

  // Ids of edges.
  std::span<const int> in(int node) const { return row(in_, in_begin_, node); }
  std::span<const int> out(int node) const { return row(out_, out_begin_, node); }

  // Nodes behind all their producers.
  const std::vector<int>& order() const { return order_; }

  // Nodes that share a device: groups, and every other node alone.
  int num_units() const { return static_cast<int>(unit_begin_.size()) - 1; }
  int unit_of(int node) const { return unit_of_[static_cast<std::size_t>(node)]; }
  std::span<const int> unit(int id) const { return row(unit_nodes_, unit_begin_, id); }
  int device_of_unit(int id) const { return unit_device_[static_cast<std::size_t>(id)]; }

  // Of all nodes, each where it is fastest.
  std::int64_t work_ps() const { return work_ps_; }
  // On a device of a kind below num_kinds().
  std::int64_t time_ps(int id, int kind) const {
    const OperatorNode& each = node(id);
    return each.kind_ps.empty() ? each.time_ps : each.kind_ps[static_cast<std::size_t>(kind)];
  }
  int num_kinds() const { return std::max(1, num_kinds_); }  // 1 where kinds do not differ

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
  std::int64_t slowest_ps_ = 0;  // all nodes, each where it is slowest
  int num_kinds_ = 0;            // of nodes with times by kind
};

}  // namespace tandem::planner
