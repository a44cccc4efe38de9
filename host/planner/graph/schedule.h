// SPDX-License-Identifier: Apache-2.0
//
// Evaluator: simulates a placement of a graph, and gives its schedule. All methods use it.
//
// A device runs one node at a time: the ready node with the longest path to the end, then the
// lowest index. A link carries one tensor at a time, in the order of their production. The latency
// follows the transfer and does not occupy the link. Transfers and computation overlap. A device
// holds resident nodes, tensors from the start of their producer until the last local consumer and
// transfer end, copies from the start of their transfer until their last consumer ends, and
// workspace. Threads: one per object. Ownership: borrows the graph. Cost: O((nodes + edges) log).
// Errors: none; the devices of `placement` must exist.
#pragma once

#include <queue>
#include <utility>
#include <vector>

#include "planner/graph/device_links.h"
#include "planner/graph/operator_graph.h"

namespace tandem::planner {

struct Schedule {
  std::int64_t makespan_ps = 0;
  std::vector<std::int64_t> start_ps, end_ps;  // [num_nodes]
  // [num_nodes] What delayed the start of the node: the previous node on its device, or the
  // producer whose tensor arrived last. -1: nothing.
  std::vector<int> waits_for;
};

// The bytes that `node` occupies on its device in [begin, end). If both are equal, it occupies them
// for an instant.
struct MemorySpan {
  std::int64_t begin_ps = 0, end_ps = 0, bytes = 0;
  int device = 0, node = 0;
};

// The transfer of a tensor to one device. The latency follows `end_ps`.
struct TensorTransfer {
  int edge = 0, from = 0, to = 0;  // from and to are devices
  std::int64_t begin_ps = 0, end_ps = 0;
};

class Evaluator {
 public:
  Evaluator(const OperatorGraph& graph, const DeviceLinks& links);

  // Valid until the next call.
  const Schedule& run(const Placement& placement);
  const Schedule& schedule() const { return schedule_; }  // of the last run
  // Of the last run: tensors, copies and workspace, without resident memory.
  std::vector<MemorySpan> memory_spans(const Placement& placement) const;
  std::vector<TensorTransfer> transfers(const Placement& placement) const;  // of the last run

 private:
  using Event = std::pair<std::int64_t, int>;  // time and node if ready, node + num_nodes if ended

  void reset(const Placement& placement);
  void make_ready(int node, std::int64_t now);
  void touch(int device);
  void start_touched(std::int64_t now);
  void start_next(int device, std::int64_t now);
  void finish(int node, std::int64_t now);
  std::int64_t arrival(int edge, std::int64_t now, std::int64_t& begin);

  const OperatorGraph& graph_;
  DeviceLinks links_;
  const Placement* placement_ = nullptr;
  Schedule schedule_;
  std::vector<std::int64_t> edge_ps_, bytes_ps_;     // [num_edges] [num_tensors]
  std::vector<std::int64_t> way_ps_;                 // [num_nodes] longest path to the end
  std::vector<std::int64_t> ready_ps_;               // [num_nodes]
  std::vector<int> ready_by_, num_missing_;          // [num_nodes]
  std::vector<std::int64_t> sent_begin_, sent_end_;  // [num_edges] of the transfer
  std::vector<std::int64_t> link_free_;              // [num_devices, num_devices]
  std::vector<std::size_t> used_links_;
  std::vector<char> is_touched_;  // [num_devices]
  std::vector<int> touched_;
  std::vector<int> sent_edge_;                        // [num_devices] of the node that ends
  std::vector<int> running_, last_run_, send_order_;  // [num_devices]
  std::vector<std::priority_queue<std::pair<std::int64_t, int>>> waiting_;  // [num_devices]
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

// [num_devices] Returns the peak memory of each device.
std::vector<std::int64_t> peak_bytes(const OperatorGraph& graph, const DeviceLinks& links,
                                     const Placement& placement,
                                     const std::vector<MemorySpan>& spans);

// Returns the first time at which `device` holds more than `limit` bytes; -1 if there is none.
std::int64_t first_overflow_ps(const OperatorGraph& graph, const Placement& placement,
                               const std::vector<MemorySpan>& spans, int device,
                               std::int64_t limit);

}  // namespace tandem::planner
