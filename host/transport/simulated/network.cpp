// SPDX-License-Identifier: Apache-2.0
//
// One heap of events: a message's first byte reaches a stage, or its last byte the receiver.
#include "transport/simulated/network.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace tandem::transport::simulated {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw Error("transport", std::string("simulated network: ") + what);
}

bool is_time(double seconds) { return std::isfinite(seconds) && seconds >= 0; }
bool is_rate(double rate) { return std::isfinite(rate) && rate > 0; }

std::size_t divided_up(int value, int by) {
  return static_cast<std::size_t>((value + by - 1) / by);
}

}  // namespace

void validate(const NetworkOptions& options) {
  require(options.world >= 1, "a world has at least one rank");
  require(is_time(options.latency_s) && is_time(options.node_latency_s) &&
              is_time(options.message_gap_s),
          "latencies and the gap are at least 0");
  require(is_rate(options.bandwidth_bytes_per_s) && is_rate(options.node_bandwidth_bytes_per_s),
          "bandwidths are above 0");
  require(options.ranks_per_node >= 1 && options.nodes_per_rack >= 0,
          "a node has at least one rank");
  require(std::isfinite(options.oversubscription) && options.oversubscription >= 1,
          "oversubscription is at least 1");
  require(options.scale >= 1, "the scale is at least 1");
  const auto is_rank = [&](int rank) { return rank >= 0 && rank < options.world; };
  for (const PortOverride& port : options.ports) {
    require(
        is_rank(port.rank) && is_rate(port.egress_bytes_per_s) && is_rate(port.ingress_bytes_per_s),
        "a port override names a rank and two bandwidths above 0");
  }
  for (const LinkOverride& link : options.links) {
    require(is_rank(link.from) && is_rank(link.to) && link.from != link.to &&
                is_time(link.latency_s) && is_rate(link.bandwidth_bytes_per_s),
            "a link override names two ranks, a latency and a bandwidth above 0");
  }
}

Network::Network(NetworkOptions options) : options_(std::move(options)) {
  validate(options_);
  const auto world = static_cast<std::size_t>(options_.world);
  const std::size_t nodes = divided_up(options_.world, options_.ranks_per_node);
  const int per_rack =
      options_.nodes_per_rack == 0 ? static_cast<int>(nodes) : options_.nodes_per_rack;
  options_.nodes_per_rack = per_rack;
  const double rate = options_.bandwidth_bytes_per_s;
  egress_.assign(world, {rate, 0});
  ingress_ = egress_;
  node_egress_.assign(world, {options_.node_bandwidth_bytes_per_s, 0});
  node_ingress_ = node_egress_;
  adapter_out_.assign(nodes, {rate, 0});
  adapter_in_ = adapter_out_;
  uplink_.assign(divided_up(static_cast<int>(nodes), per_rack),
                 {rate * per_rack / options_.oversubscription, 0});
  downlink_ = uplink_;
  num_sent_.assign(world, 0);
  for (const PortOverride& port : options_.ports) {
    egress_[static_cast<std::size_t>(port.rank)].rate = port.egress_bytes_per_s;
    ingress_[static_cast<std::size_t>(port.rank)].rate = port.ingress_bytes_per_s;
  }
  lookahead_ = options_.latency_s;
  if (options_.ranks_per_node > 1) lookahead_ = std::min(lookahead_, options_.node_latency_s);
  for (const LinkOverride& link : options_.links) {
    links_[{link.from, link.to}] = {link.latency_s, {link.bandwidth_bytes_per_s, 0}};
    lookahead_ = std::min(lookahead_, link.latency_s);
  }
}

std::vector<Network::Stage*> Network::route(int from, int to) {
  const auto sender = static_cast<std::size_t>(node_of(from));
  const auto receiver = static_cast<std::size_t>(node_of(to));
  const auto target = static_cast<std::size_t>(to);
  std::vector<Stage*> stages;
  if (sender == receiver) return {&node_ingress_[target]};
  if (options_.ranks_per_node > 1) stages.push_back(&adapter_out_[sender]);
  const auto per_rack = static_cast<std::size_t>(options_.nodes_per_rack);
  if (sender / per_rack != receiver / per_rack) {
    stages.push_back(&uplink_[sender / per_rack]);
    stages.push_back(&downlink_[receiver / per_rack]);
  }
  if (const auto link = links_.find({from, to}); link != links_.end()) {
    stages.push_back(&link->second.second);
  }
  if (options_.ranks_per_node > 1) stages.push_back(&adapter_in_[receiver]);
  stages.push_back(&ingress_[target]);
  return stages;
}

double Network::send(double now, int from, Outgoing message) {
  const auto sender = static_cast<std::size_t>(from);
  const bool same_node = node_of(from) == node_of(message.peer);
  Stage& port = same_node ? node_egress_[sender] : egress_[sender];
  double latency = same_node ? options_.node_latency_s : options_.latency_s;
  if (const auto link = links_.find({from, message.peer}); link != links_.end()) {
    latency = link->second.first;
  }
  const std::size_t size = message.payload.size();
  const std::size_t frame = std::min(size, options_.frame_bytes);
  const double bytes = static_cast<double>(frame) +
                       static_cast<double>(size - frame) * static_cast<double>(options_.scale);
  const double start = std::max(now, port.free_at);
  const double left = start + bytes / port.rate;
  port.free_at = left + options_.message_gap_s;

  Moving moving;
  moving.bytes = bytes;
  moving.last_byte = left + latency;
  moving.stages = route(from, message.peer);
  moving.flight = {from, message.peer, message.tag, std::move(message.payload), 0};
  std::size_t place = moving_.size();
  if (unused_.empty()) {
    moving_.push_back(std::move(moving));
  } else {
    place = unused_.back();
    unused_.pop_back();
    moving_[place] = std::move(moving);
  }
  events_.push({start + latency, from, num_sent_[sender]++, place});
  return left;
}

void Network::advance(const Event& event) {
  Moving& moving = moving_[event.flight];
  Stage& stage = *moving.stages[moving.next_stage++];
  const double start = std::max(event.time, stage.free_at);
  stage.free_at = start + moving.bytes / stage.rate;
  moving.last_byte = std::max(moving.last_byte, stage.free_at);
  const bool arrived = moving.next_stage == moving.stages.size();
  events_.push({arrived ? moving.last_byte : start, event.from, event.number, event.flight});
}

std::optional<Flight> Network::next_arrival(double horizon) {
  while (!events_.empty() && events_.top().time < horizon) {
    const Event event = events_.top();
    events_.pop();
    Moving& moving = moving_[event.flight];
    if (moving.next_stage < moving.stages.size()) {
      advance(event);
      continue;
    }
    Flight flight = std::move(moving.flight);
    flight.arrival = event.time;
    unused_.push_back(event.flight);
    return flight;
  }
  return std::nullopt;
}

}  // namespace tandem::transport::simulated
