// SPDX-License-Identifier: Apache-2.0
//
// The network by itself: how far ahead its time may be computed, and which links messages share.
#include "transport/simulated/network.h"

#include <gtest/gtest.h>

namespace tandem::transport::simulated {
namespace {

NetworkOptions nodes_of_two(int world) {
  NetworkOptions options;
  options.world = world;
  options.ranks_per_node = 2;
  options.latency_s = 20e-6;
  options.node_latency_s = 5e-6;
  return options;
}

TEST(SimulatedNetwork, LooksAheadByTheLeastLatencyOfAnyPair) {
  EXPECT_EQ(Network(nodes_of_two(4)).lookahead(), 5e-6);
  NetworkOptions alone = nodes_of_two(4);
  alone.ranks_per_node = 1;
  EXPECT_EQ(Network(alone).lookahead(), 20e-6) << "no node has two ranks";
  alone.links = {{0, 1, 1e-6, 1e9}};
  EXPECT_EQ(Network(alone).lookahead(), 1e-6);
}

Outgoing bytes_to(int peer, std::size_t size) { return {peer, Payload(ByteBuffer(size)), 1}; }

TEST(SimulatedNetwork, RanksOfANodeReceiveThroughOneAdapter) {
  NetworkOptions options = nodes_of_two(6);
  options.latency_s = 0;
  options.bandwidth_bytes_per_s = 1000;
  Network network(options);
  network.send(0, 2, bytes_to(0, 1000));
  network.send(0, 4, bytes_to(1, 1000));
  EXPECT_EQ(network.next_arrival(100)->arrival, 1);
  EXPECT_EQ(network.next_arrival(100)->arrival, 2)
      << "another node, another rank, the same adapter";
}

}  // namespace
}  // namespace tandem::transport::simulated
