// SPDX-License-Identifier: Apache-2.0
//
// Virtual times against the closed forms of the network's model, whatever threads do.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "collectives/frames/communicator.h"
#include "host/transport/conformance.h"
#include "host/transport/connections.h"
#include "transport/simulated/simulated.h"

namespace tandem::transport {
namespace {

using collectives::Communicator;
using collectives::kFrameBytes;
using collectives::new_message;
using simulated::NetworkOptions;

constexpr double kLatency = 1e-3;
constexpr double kRate = 1e6;  // bytes/s

NetworkOptions network(int world) {
  NetworkOptions options;
  options.world = world;
  options.latency_s = kLatency;
  options.bandwidth_bytes_per_s = kRate;
  return options;
}

Payload payload_of(std::size_t bytes) {
  ByteBuffer buffer;
  buffer.resize(bytes, std::byte{1});
  return Payload(std::move(buffer));
}

void send(Transport& transport, int to, std::size_t bytes, Tag tag = 0) {
  std::vector<Outgoing> sends;
  sends.push_back({to, payload_of(bytes), tag});
  transport.start(std::move(sends), {})->finish(Deadline::never());
}

Incoming receive(Transport& transport, int from, Tag tag = 0) {
  return *transport.start({}, {{from, tag}})->next(Deadline::after(std::chrono::seconds(30)));
}

TEST(SimulatedTransport, AMessageTakesLatencyAndItsBytesOverTheBandwidth) {
  simulated::run_ranks(network(2), [](Transport& rank) {
    if (rank.rank() == 0) {
      send(rank, 1, 500);
      EXPECT_DOUBLE_EQ(simulated::now(rank), 500 / kRate);
    } else {
      EXPECT_EQ(receive(rank, 0).payload.size(), 500u);
      EXPECT_DOUBLE_EQ(simulated::now(rank), kLatency + 500 / kRate);
    }
  });
}

TEST(SimulatedTransport, MessagesOfOneSenderLeaveOneAfterAnother) {
  NetworkOptions options = network(3);
  options.message_gap_s = 1e-4;
  simulated::run_ranks(options, [](Transport& rank) {
    if (rank.rank() == 0) {
      std::vector<Outgoing> sends;
      sends.push_back({1, payload_of(1000), 0});
      sends.push_back({2, payload_of(2000), 0});
      rank.start(std::move(sends), {})->finish(Deadline::never());
      EXPECT_DOUBLE_EQ(simulated::now(rank), 3000 / kRate + 1e-4);
    } else {
      receive(rank, 0);
      const double left = rank.rank() == 1 ? 1000 / kRate : 3000 / kRate + 1e-4;
      EXPECT_DOUBLE_EQ(simulated::now(rank), kLatency + left);
    }
  });
}

TEST(SimulatedTransport, MessagesToOneReceiverArriveOneAfterAnotherLowerSenderFirst) {
  simulated::run_ranks(network(4), [](Transport& rank) {
    if (rank.rank() != 0) return send(rank, 0, 1000);
    auto exchange = rank.start({}, {{3, 0}, {2, 0}, {1, 0}});
    for (int from = 1; from < 4; ++from) {
      EXPECT_EQ(exchange->next(Deadline::after(std::chrono::seconds(30)))->peer, from);
      EXPECT_DOUBLE_EQ(simulated::now(rank), kLatency + from * 1000 / kRate);
    }
    EXPECT_FALSE(exchange->next(Deadline::never()));
  });
}

// Rank 3 wakes rank 0, whose answer is earlier than the message that rank 2 has long sent. Both
// links to rank 1 are given.
void expect_answer_overtakes(double answer_s, double message_s) {
  NetworkOptions options = network(4);
  options.links.push_back({2, 1, message_s, kRate});
  options.links.push_back({0, 1, answer_s, kRate});
  simulated::run_ranks(options, [&](Transport& rank) {
    switch (rank.rank()) {
      case 0:
        receive(rank, 3);
        return send(rank, 1, 0);
      case 2:
        return send(rank, 1, 0);
      case 3:
        return send(rank, 0, 0);
      default:
        break;
    }
    const auto both = rank.start({}, {{0, 0}, {2, 0}});
    EXPECT_EQ(both->next(Deadline::never())->peer, 0);
    EXPECT_DOUBLE_EQ(simulated::now(rank), kLatency + answer_s);
    EXPECT_EQ(both->next(Deadline::never())->peer, 2);
    EXPECT_DOUBLE_EQ(simulated::now(rank), message_s);
  });
}

TEST(SimulatedTransport, AnAnswerOvertakesAMessageThatArrivesLater) {
  expect_answer_overtakes(kLatency, 2.5 * kLatency);
}

TEST(SimulatedTransport, AnAnswerOverAFastLinkOvertakesToo) {
  expect_answer_overtakes(kLatency / 4, 1.5 * kLatency);
}

TEST(SimulatedTransport, AnAbortEndsTheWaitsOfAGroupWhileItsPeerStillWorks) {
  auto world = simulated::make_world(network(3));
  world[1]->set_failure_scope(FailureScope::kGroup);
  auto waiting = std::async(std::launch::async, [&] {
    try {
      receive(*world[1], 2);
      return std::string("a message");
    } catch (const TransportError& error) {
      return std::string(error.what());
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // most often it waits by then
  world[0]->abort("enough");
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  world[0].reset();
  world[2].reset();
  EXPECT_NE(waiting.get().find("enough"), std::string::npos);
}

TEST(SimulatedTransport, ConformsOnEveryWorld) {
  for (const int world : {1, 2, 3, 5, 8, 16}) {
    simulated::run_ranks(network(world), [](Transport& transport) {
      test::Conformance(transport).everything(std::size_t{1} << 20);
    });
  }
}

TEST(SimulatedTransport, ASlowerPortOrLinkSetsThePace) {
  NetworkOptions options = network(4);
  options.ports.push_back({2, kRate, kRate / 4});
  options.links.push_back({0, 3, 5 * kLatency, kRate / 10});
  simulated::run_ranks(options, [](Transport& rank) {
    if (rank.rank() == 0) {
      for (int to = 1; to < 4; ++to) send(rank, to, 1000);
      return;
    }
    receive(rank, 0);
    const double left = 1e-3 * (rank.rank() - 1);  // the messages before
    const double expected[] = {0, kLatency + 1e-3, left + kLatency + 4e-3,
                               left + 5 * kLatency + 10e-3};
    EXPECT_DOUBLE_EQ(simulated::now(rank), expected[rank.rank()]);
  });
}

TEST(SimulatedTransport, AnOversubscribedUplinkIsSharedByItsRack) {
  NetworkOptions options = network(8);
  options.nodes_per_rack = 4;
  options.oversubscription = 4;  // the uplink carries one port's rate
  simulated::run_ranks(options, [](Transport& rank) {
    const int peer = (rank.rank() + 4) % 8;
    std::vector<Outgoing> sends;
    sends.push_back({peer, payload_of(1000), 0});
    auto exchange = rank.start(std::move(sends), {{peer, 0}});
    exchange->next(Deadline::after(std::chrono::seconds(30)));
    const int turn = rank.rank() % 4;  // the uplink serves lower senders first
    EXPECT_DOUBLE_EQ(simulated::now(rank), kLatency + (turn + 1) * 1000 / kRate);
  });
}

TEST(SimulatedTransport, RanksOfANodeShareItsAdapterAndAreFastAmongThemselves) {
  NetworkOptions options = network(4);
  options.ranks_per_node = 2;
  options.node_latency_s = 1e-5;
  options.node_bandwidth_bytes_per_s = 10 * kRate;
  simulated::run_ranks(options, [](Transport& rank) {
    EXPECT_EQ(rank.node_name(), "simulated node " + std::to_string(rank.rank() / 2));
    const auto swap = [&](int peer, Tag tag) {
      const double before = simulated::now(rank);
      std::vector<Outgoing> sends;
      sends.push_back({peer, payload_of(1000), tag});
      rank.start(std::move(sends), {{peer, tag}})->next(Deadline::after(std::chrono::seconds(30)));
      return simulated::now(rank) - before;
    };
    EXPECT_DOUBLE_EQ(swap(rank.rank() ^ 1, 0), 1e-5 + 100 / kRate);
    EXPECT_NEAR(swap(rank.rank() ^ 2, 1), kLatency + (1 + rank.rank() % 2) * 1000 / kRate, 1e-12);
  });
}

TEST(SimulatedTransport, ScaleCountsBodiesNotFrames) {
  NetworkOptions options = network(2);
  options.scale = 64;
  options.frame_bytes = kFrameBytes;
  simulated::run_ranks(options, [](Transport& rank) {
    if (rank.rank() == 0) return send(rank, 1, kFrameBytes + 100);
    receive(rank, 0);
    EXPECT_DOUBLE_EQ(simulated::now(rank), kLatency + (kFrameBytes + 6400) / kRate);
  });
}

// Clocks of all ranks after a few irregular exchanges; `jitter` disturbs the threads.
std::vector<double> clocks_of_a_run(int world, bool jitter) {
  std::vector<double> clocks(static_cast<std::size_t>(world));
  NetworkOptions options = network(world);
  options.nodes_per_rack = 3;
  options.oversubscription = 3;
  simulated::run_ranks(options, [&](Transport& transport) {
    Communicator ranks(transport, 1, Deadline::after(std::chrono::seconds(60)));
    for (int round = 0; round < 4; ++round) {
      std::vector<ByteBuffer> by_rank;
      for (int to = 0; to < world; ++to) {
        by_rank.push_back(new_message());
        by_rank.back().resize(static_cast<std::size_t>(24 + (to * 37 + round * 11) % 500));
      }
      if (jitter) {
        std::this_thread::sleep_for(std::chrono::microseconds(
            std::hash<std::thread::id>()(std::this_thread::get_id()) % 400));
      }
      ranks.all_to_all("test", std::move(by_rank));
      const int peer = transport.rank() ^ 1;
      if (peer < world && round % 2 == 0) ranks.send_receive("pair", peer, new_message(), peer);
    }
    clocks[static_cast<std::size_t>(transport.rank())] = simulated::now(transport);
  });
  return clocks;
}

TEST(SimulatedTransport, TimesDoNotDependOnThreads) {
  const auto expected = clocks_of_a_run(9, false);
  for (int run = 0; run < 20; ++run) EXPECT_EQ(clocks_of_a_run(9, run % 2 == 0), expected);
}

TEST(SimulatedTransport, AThousandRanksExchange) {
  constexpr int kWorld = 1024;
  NetworkOptions options = network(kWorld);
  std::atomic<int> num_right{0};
  simulated::run_ranks(options, [&](Transport& transport) {
    Communicator ranks(transport, 1, Deadline::after(std::chrono::seconds(100)));
    double expected = 0;
    for (int distance = 1; distance < kWorld; distance *= 2) {
      const int peer = transport.rank() ^ distance;
      ByteBuffer message = new_message();
      append_value(message, transport.rank());
      ranks.send_receive("doubling", peer, std::move(message), peer);
      expected += kLatency + 28 / kRate;
    }
    if (std::abs(simulated::now(transport) - expected) < 1e-9) ++num_right;
  });
  EXPECT_EQ(num_right, kWorld);
}

TEST(SimulatedTransport, ConnectionsFailAloneAndGroupsTogether) {
  const auto run_ranks = [](int world, const auto& body) {
    auto transports = simulated::make_world(network(world));
    std::vector<std::future<void>> ranks;
    for (auto& transport : transports) {
      ranks.push_back(std::async(std::launch::async, [&body, own = std::move(transport)]() mutable {
        body(std::move(own));
      }));
    }
    for (auto& rank : ranks) rank.get();
  };
  test::check_connections(run_ranks, true);
}

TEST(SimulatedTransport, ARankThatWaitsForALostOneFailsAndTheOthersGoOn) {
  simulated::run_ranks(network(3), [](Transport& rank) {
    if (rank.rank() == 2) return;
    if (rank.rank() == 1) {
      EXPECT_EQ(receive(rank, 0).payload.size(), 5u);
      return;
    }
    EXPECT_THROW(receive(rank, 2), TransportError);  // once nothing is under way
    send(rank, 1, 5);
  });
}

TEST(SimulatedTransport, WaitingForNothingFailsAtOnce) {
  for (const bool leaves : {false, true}) {
    simulated::run_ranks(network(2), [&](Transport& rank) {
      if (leaves && rank.rank() == 0) return;
      try {
        receive(rank, 1 - rank.rank());
        ADD_FAILURE() << "nothing was sent";
      } catch (const TransportError& error) {
        EXPECT_EQ(error.kind(),
                  leaves ? TransportError::Kind::kPeerLost : TransportError::Kind::kTimeout);
        EXPECT_EQ(error.peer(), 1 - rank.rank());
      }
    });
  }
}

TEST(SimulatedTransport, RethrowsTheCauseNotTheAbortsThatFollow) {
  try {
    simulated::run_ranks(network(3), [](Transport& rank) {
      if (rank.rank() == 2) throw Error("test", "the cause");
      receive(rank, 2);
    });
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[test] the cause");
  }
}

TEST(SimulatedTransport, RefusesImpossibleNetworks) {
  const auto refuses = [](auto&& change) {
    NetworkOptions options = network(2);
    change(options);
    EXPECT_THROW(simulated::make_world(options), Error);
  };
  refuses([](auto& options) { options.world = 0; });
  refuses([](auto& options) { options.latency_s = -1; });
  refuses([](auto& options) { options.bandwidth_bytes_per_s = 0; });
  refuses([](auto& options) { options.oversubscription = 0.5; });
  refuses([](auto& options) { options.ranks_per_node = 0; });
  refuses([](auto& options) { options.scale = 0; });
  refuses([](auto& options) { options.ports.push_back({2, 1, 1}); });
  refuses([](auto& options) { options.links.push_back({0, 0, 1, 1}); });
}

}  // namespace
}  // namespace tandem::transport
