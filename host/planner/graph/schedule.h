// SPDX-License-Identifier: Apache-2.0
//
// Evaluator: what a placement costs: the one judge of all ways to place a graph.
//
// Events in time. A device runs one node at a time: of those that are ready the one with the
// longest way to the end, ties by number. A link from one device to another carries one tensor at a
// time, in the order in which they are made; the latency follows and occupies nothing. Transfers
// and computation overlap. Memory over time of a device: resident nodes; a tensor from the start of
// its producer until its last consumer here and its last transfer have ended; a copy from the start
// of its transfer until its last consumer; workspace. Threads: one per object. Ownership: borrows
// the graph. Cost: O((nodes + edges) log). Errors: none; `placement` names devices that exist.
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
  // [num_nodes] The node before on its device, or the producer whose tensor came last: why the node
  // starts no earlier. -1 where nothing delays it.
  std::vector<int> waits_for;
};

// Bytes of `node` on its device in [begin, end); alive for a moment where both are equal.
struct MemorySpan {
  std::int64_t begin_ps = 0, end_ps = 0, bytes = 0;
  int device = 0, node = 0;
};

// A tensor on its way, once per device that it goes to. Behind `end_ps` comes the latency.
struct TensorTransfer {
  int edge = 0, from = 0, to = 0;  // of devices
  std::int64_t begin_ps = 0, end_ps = 0;
};

class Evaluator {
 public:
  Evaluator(const OperatorGraph& graph, const DeviceLinks& links);

  // Valid until the next call.
  const Schedule& run(const Placement& placement);
  const Schedule& schedule() const { return schedule_; }  // of the last run
  // Of the last run: all tensors, copies and workspace, without resident memory.
  std::vector<MemorySpan> memory_spans(const Placement& placement) const;
  std::vector<TensorTransfer> transfers(const Placement& placement) const;  // of the last run

 private:
  using Event = std::pair<std::int64_t, int>;  // time, node: ready, or ended (node + num_nodes)

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
  std::vector<std::int64_t> way_ps_;                 // [num_nodes] to the end
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

// [num_devices] the most bytes that are on a device at one time.
std::vector<std::int64_t> peak_bytes(const OperatorGraph& graph, const DeviceLinks& links,
                                     const Placement& placement,
                                     const std::vector<MemorySpan>& spans);

// The first time at which `device` holds more than `limit`; -1 where it never does.
std::int64_t first_overflow_ps(const OperatorGraph& graph, const Placement& placement,
                               const std::vector<MemorySpan>& spans, int device,
                               std::int64_t limit);

}  // namespace tandem::planner
