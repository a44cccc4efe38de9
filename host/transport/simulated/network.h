// SPDX-License-Identifier: Apache-2.0
//
// Network: computes when a message sent at a virtual time arrives, given the links that it shares
// with others.
//
// A message of b bytes passes stages (Stage, route()). The capacity of a stage is never exceeded,
// and a message without contention takes latency + b / lowest rate. Buffers are unlimited and
// nothing is lost: no congestion control, no back pressure on senders. Threads: one at a time.
// Deterministic: results depend on times, senders and order of sending.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "transport/transport.h"

namespace tandem::transport::simulated {

struct LinkOverride {
  int from = 0;
  int to = 0;
  double latency_s = 0;
  double bandwidth_bytes_per_s = 0;
};

struct PortOverride {
  int rank = 0;
  double egress_bytes_per_s = 0;
  double ingress_bytes_per_s = 0;
};

struct NetworkOptions {
  int world = 1;
  double latency_s = 20e-6;                  // of a message between nodes
  double bandwidth_bytes_per_s = 3.125e9;    // of a node's adapter, each direction
  double message_gap_s = 0;                  // a port's time per message besides its bytes
  int ranks_per_node = 1;                    // consecutive ranks; they share the node's adapter
  double node_latency_s = 5e-6;              // within a node
  double node_bandwidth_bytes_per_s = 1e11;  // of a rank's port within its node
  int nodes_per_rack = 0;                    // 0: one rack
  double oversubscription = 1;               // the rack's ports over its uplink
  std::uint64_t scale = 1;                   // a body of b bytes counts as b * scale
  std::size_t frame_bytes = 0;               // at the front of each message; they are not scaled
  std::vector<PortOverride> ports;
  std::vector<LinkOverride> links;
};

// Throws Error naming the field.
void validate(const NetworkOptions& options);

struct Flight {
  int from = 0;
  int to = 0;
  Tag tag = 0;
  Payload payload;
  double arrival = 0;  // of the last byte
};

class Network {
 public:
  explicit Network(NetworkOptions options);

  // A message leaves rank `from` at `now` or when its port is free; returns when its last byte has
  // left. `now` never decreases for one sender.
  double send(double now, int from, Outgoing message);

  // The next arrival in order of time (ties: lower sender, earlier sending), if any is before
  // `horizon`.
  std::optional<Flight> next_arrival(double horizon);

  // No message sent at or after t arrives, or delays another, before t + lookahead().
  double lookahead() const { return lookahead_; }
  const NetworkOptions& options() const { return options_; }
  int node_of(int rank) const { return rank / options_.ranks_per_node; }

 private:
  // A queue served in order of the first bytes' arrival (ties: lower sender, then its order of
  // sending) at `rate` bytes/s, cut-through. A message starts at start = max(first byte's arrival,
  // time the stage is free) and occupies the stage for b / rate. Its first byte leaves at start,
  // its last byte at max(start + b / rate, the last byte's arrival).
  struct Stage {
    double rate = 0;
    double free_at = 0;
  };
  struct Event {
    double time;  // of the first byte at the next stage; of the last byte once there is none
    int from;
    std::uint64_t number;  // of the sender's messages
    std::size_t flight;
    bool operator>(const Event& other) const {
      if (time != other.time) return time > other.time;
      if (from != other.from) return from > other.from;
      return number > other.number;
    }
  };
  struct Moving {
    Flight flight;
    double bytes = 0;
    double last_byte = 0;        // at the next stage
    std::vector<Stage*> stages;  // still to come
    std::size_t next_stage = 0;
  };

  // The stages of a message:
  //   1. the sender's port: messages leave one after another in the order of sending, `gap` apart
  //   2. the latency passes
  //   3. between nodes: the sender's adapter (ranks_per_node above 1), the uplink of its rack and
  //      the downlink of the receiver's (different racks; rate = the rack's ports /
  //      oversubscription), the receiver's adapter; or the pair's own link, if overridden
  //   4. the receiver's port
  std::vector<Stage*> route(int from, int to);
  void advance(const Event& event);

  NetworkOptions options_;
  double lookahead_ = 0;
  std::vector<Stage> egress_, ingress_, node_egress_, node_ingress_;  // [world] ports
  std::vector<Stage> adapter_out_, adapter_in_;                       // [nodes]
  std::vector<Stage> uplink_, downlink_;                              // [racks]
  std::map<std::pair<int, int>, std::pair<double, Stage>> links_;     // latency, own link
  std::vector<std::uint64_t> num_sent_;                               // [world]
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Moving> moving_;
  std::vector<std::size_t> unused_;  // places in moving_
};

}  // namespace tandem::transport::simulated
