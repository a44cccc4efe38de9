// SPDX-License-Identifier: Apache-2.0
//
// All events of one time are taken before devices start their next nodes.
#include "planner/graph/schedule.h"

#include <algorithm>

namespace tandem::planner {
namespace {

constexpr int kNobody = -1;

std::size_t at(int id) { return static_cast<std::size_t>(id); }

}  // namespace

Evaluator::Evaluator(const OperatorGraph& graph, const DeviceLinks& links)
    : graph_(graph), links_(links) {
  const auto n = at(graph.num_nodes());
  const auto devices = at(links.num_devices);
  for (const OperatorTensor& tensor : graph.tensors()) {
    bytes_ps_.push_back(links.transfer_ps(tensor.bytes));
  }
  for (int id = 0; id < graph.num_edges(); ++id) {
    edge_ps_.push_back(bytes_ps_[at(graph.edge(id).tensor)] + links.latency_ps);
  }
  schedule_.start_ps.resize(n);
  schedule_.end_ps.resize(n);
  way_ps_.resize(n);
  sent_begin_.resize(edge_ps_.size());
  sent_end_.resize(edge_ps_.size());
  waiting_.resize(devices);
  sent_edge_.assign(devices, kNobody);
  link_free_.assign(devices * devices, 0);
  is_touched_.assign(devices, 0);
}

void Evaluator::reset(const Placement& placement) {
  placement_ = &placement;
  const auto n = at(graph_.num_nodes());
  const auto devices = at(links_.num_devices);
  schedule_.makespan_ps = 0;
  schedule_.waits_for.assign(n, kNobody);
  ready_ps_.assign(n, 0);
  ready_by_.assign(n, kNobody);
  num_missing_.resize(n);
  for (const std::size_t link : used_links_) link_free_[link] = 0;
  used_links_.clear();
  running_.assign(devices, kNobody);
  last_run_.assign(devices, kNobody);
  for (auto node = graph_.order().rbegin(); node != graph_.order().rend(); ++node) {
    std::int64_t most = 0;
    for (const int id : graph_.out(*node)) {
      const int to = graph_.edge(id).to;
      const bool is_near = placement[at(to)] == placement[at(*node)];
      most = std::max(most, way_ps_[at(to)] + (is_near ? 0 : edge_ps_[at(id)]));
    }
    way_ps_[at(*node)] = most + links_.time_ps(graph_, *node, placement[at(*node)]);
    num_missing_[at(*node)] = static_cast<int>(graph_.in(*node).size());
  }
}

const Schedule& Evaluator::run(const Placement& placement) {
  reset(placement);
  for (int node = 0; node < graph_.num_nodes(); ++node) {
    if (num_missing_[at(node)] == 0) make_ready(node, 0);
  }
  start_touched(0);
  while (!events_.empty()) {
    const std::int64_t now = events_.top().first;
    while (!events_.empty() && events_.top().first == now) {
      const int id = events_.top().second;
      events_.pop();
      if (id >= graph_.num_nodes()) {
        finish(id - graph_.num_nodes(), now);
      } else {
        make_ready(id, now);
      }
    }
    start_touched(now);
  }
  return schedule_;
}

// Devices at which something has changed; the others have nothing to start.
void Evaluator::start_touched(std::int64_t now) {
  for (const int device : touched_) {
    is_touched_[at(device)] = 0;
    start_next(device, now);
  }
  touched_.clear();
}

void Evaluator::touch(int device) {
  if (is_touched_[at(device)] != 0) return;
  is_touched_[at(device)] = 1;
  touched_.push_back(device);
}

void Evaluator::make_ready(int node, std::int64_t now) {
  if (ready_ps_[at(node)] > now) {
    events_.emplace(ready_ps_[at(node)], node);
    return;
  }
  const int device = (*placement_)[at(node)];
  waiting_[at(device)].emplace(way_ps_[at(node)], -node);
  touch(device);
}

void Evaluator::start_next(int device, std::int64_t now) {
  auto& waiting = waiting_[at(device)];
  if (running_[at(device)] != kNobody || waiting.empty()) return;
  const int node = -waiting.top().second;
  waiting.pop();
  running_[at(device)] = node;
  schedule_.start_ps[at(node)] = now;
  schedule_.waits_for[at(node)] =
      ready_ps_[at(node)] < now ? last_run_[at(device)] : ready_by_[at(node)];
  last_run_[at(device)] = node;
  events_.emplace(now + links_.time_ps(graph_, node, device), node + graph_.num_nodes());
}

// The time at which the tensor of an edge is available. `begin`: start of its transfer.
std::int64_t Evaluator::arrival(int edge, std::int64_t now, std::int64_t& begin) {
  const int from = (*placement_)[at(graph_.edge(edge).from)],
            to = (*placement_)[at(graph_.edge(edge).to)];
  const std::size_t link = at(from) * at(links_.num_devices) + at(to);
  std::int64_t& free = link_free_[link];
  if (free == 0) used_links_.push_back(link);
  begin = std::max(now, free);
  free = begin + bytes_ps_[at(graph_.edge(edge).tensor)];
  return free + links_.latency_ps;
}

void Evaluator::finish(int node, std::int64_t now) {
  running_[at((*placement_)[at(node)])] = kNobody;
  touch((*placement_)[at(node)]);
  schedule_.end_ps[at(node)] = now;
  schedule_.makespan_ps = std::max(schedule_.makespan_ps, now);
  const auto out = graph_.out(node);
  send_order_.assign(out.begin(), out.end());
  // Consumers with the longest way to the end are served first.
  if (send_order_.size() > 1) {
    std::ranges::stable_sort(send_order_, std::greater<>(),
                             [&](int id) { return way_ps_[at(graph_.edge(id).to)]; });
  }
  for (const int id : send_order_) {
    const OperatorEdge& edge = graph_.edge(id);
    const int device = (*placement_)[at(edge.to)];
    std::int64_t ready = now;
    if (device != (*placement_)[at(node)]) {
      int& sent = sent_edge_[at(device)];
      const bool is_shared = edge.tensor == node;
      if (is_shared && sent != kNobody) {
        sent_begin_[at(id)] = sent_begin_[at(sent)];
        sent_end_[at(id)] = sent_end_[at(sent)];
      } else {
        sent_end_[at(id)] = arrival(id, now, sent_begin_[at(id)]);
        if (is_shared) sent = id;
      }
      ready = sent_end_[at(id)];
    }
    if (ready >= ready_ps_[at(edge.to)]) {
      ready_ps_[at(edge.to)] = ready;
      ready_by_[at(edge.to)] = node;
    }
    if (--num_missing_[at(edge.to)] == 0) make_ready(edge.to, now);
  }
  for (const int id : send_order_) {
    sent_edge_[at((*placement_)[at(graph_.edge(id).to)])] = kNobody;
  }
}

}  // namespace tandem::planner
