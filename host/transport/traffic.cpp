// SPDX-License-Identifier: Apache-2.0
//
// Relaxed counters: each number is exact, together they are a snapshot only between calls.
#include "transport/traffic.h"

#include "common/error.h"

namespace tandem::transport {

std::uint64_t TrafficSnapshot::bytes_sent() const {
  std::uint64_t total = 0;
  for (const PeerTraffic& peer : peers) total += peer.bytes_sent;
  return total;
}

std::uint64_t TrafficSnapshot::bytes_received() const {
  std::uint64_t total = 0;
  for (const PeerTraffic& peer : peers) total += peer.bytes_received;
  return total;
}

std::uint64_t TrafficSnapshot::messages_sent() const {
  std::uint64_t total = 0;
  for (const PeerTraffic& peer : peers) total += peer.messages_sent;
  return total;
}

TrafficSnapshot operator-(const TrafficSnapshot& later, const TrafficSnapshot& earlier) {
  TANDEM_CHECK_OP(later.peers.size(), ==, earlier.peers.size());
  TrafficSnapshot difference = later;
  difference.steps -= earlier.steps;
  for (std::size_t peer = 0; peer < later.peers.size(); ++peer) {
    difference.peers[peer].bytes_sent -= earlier.peers[peer].bytes_sent;
    difference.peers[peer].messages_sent -= earlier.peers[peer].messages_sent;
    difference.peers[peer].bytes_received -= earlier.peers[peer].bytes_received;
    difference.peers[peer].messages_received -= earlier.peers[peer].messages_received;
  }
  return difference;
}

void Traffic::count_sent(int peer, std::uint64_t bytes) {
  Counters& counters = peers_[static_cast<std::size_t>(peer)];
  counters.bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
  counters.messages_sent.fetch_add(1, std::memory_order_relaxed);
}

void Traffic::count_received(int peer, std::uint64_t bytes) {
  Counters& counters = peers_[static_cast<std::size_t>(peer)];
  counters.bytes_received.fetch_add(bytes, std::memory_order_relaxed);
  counters.messages_received.fetch_add(1, std::memory_order_relaxed);
}

TrafficSnapshot Traffic::snapshot() const {
  TrafficSnapshot all;
  all.steps = steps_.load(std::memory_order_relaxed);
  for (const Counters& counters : peers_) {
    all.peers.push_back({counters.bytes_sent.load(std::memory_order_relaxed),
                         counters.messages_sent.load(std::memory_order_relaxed),
                         counters.bytes_received.load(std::memory_order_relaxed),
                         counters.messages_received.load(std::memory_order_relaxed)});
  }
  return all;
}

}  // namespace tandem::transport
