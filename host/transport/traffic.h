// SPDX-License-Identifier: Apache-2.0
//
// Traffic: the messages and bytes that one rank has sent to and received from each peer, and the
// number of steps.
//
// Bytes are those of message payloads, including our frames but not the headers of the network. A
// step is one Transport::start: messages of one step travel at the same time. Threads: the thread
// that drives the transport counts; any thread may read (each number by itself).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace tandem::transport {

struct PeerTraffic {
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t messages_received = 0;

  bool operator==(const PeerTraffic&) const = default;
};

struct TrafficSnapshot {
  std::vector<PeerTraffic> peers;  // [world]; the own entry stays zero
  std::uint64_t steps = 0;

  std::uint64_t bytes_sent() const;
  std::uint64_t bytes_received() const;
  std::uint64_t messages_sent() const;
};

// The traffic between two snapshots of the same transport.
TrafficSnapshot operator-(const TrafficSnapshot& later, const TrafficSnapshot& earlier);

class Traffic {
 public:
  explicit Traffic(int world) : peers_(static_cast<std::size_t>(world)) {}

  void count_step() { steps_.fetch_add(1, std::memory_order_relaxed); }
  void count_sent(int peer, std::uint64_t bytes);
  void count_received(int peer, std::uint64_t bytes);
  TrafficSnapshot snapshot() const;

 private:
  struct Counters {
    std::atomic<std::uint64_t> bytes_sent{0}, messages_sent{0};
    std::atomic<std::uint64_t> bytes_received{0}, messages_received{0};
  };

  std::vector<Counters> peers_;
  std::atomic<std::uint64_t> steps_{0};
};

}  // namespace tandem::transport
