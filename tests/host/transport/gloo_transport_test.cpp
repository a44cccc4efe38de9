// SPDX-License-Identifier: Apache-2.0
//
// The gloo transport with ranks as threads: conformance, options that cannot work, and groups that
// break; gloo_process_test has ranks that really die.
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <future>

#include "collectives/frames/group_transport.h"
#include "host/transport/conformance.h"
#include "host/transport/connections.h"
#include "host/transport/gloo_world.h"

namespace tandem::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::gloo_options;
using test::run_gloo_ranks;

#define SKIP_WITHOUT_GLOO() \
  if (!gloo::available()) GTEST_SKIP() << "this build has no libgloo"

// The ranks of a world as a group that fails together, made by threads and handed to one.
std::vector<std::unique_ptr<Transport>> make_world(int world) {
  std::vector<std::unique_ptr<Transport>> transports(static_cast<std::size_t>(world));
  run_gloo_ranks(world, [&](std::unique_ptr<Transport> transport) {
    const auto rank = static_cast<std::size_t>(transport->rank());
    transports[rank] = std::make_unique<collectives::GroupTransport>(std::move(transport));
  });
  return transports;
}

template <typename Call>
TransportError transport_error_of(const Call& call) {
  try {
    call();
  } catch (const TransportError& error) {
    return error;
  }
  throw std::runtime_error("what must fail succeeded");
}

template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void receive(Transport& transport, int peer, Deadline deadline) {
  transport.start({}, {{peer, 7}})->next(deadline);
}

std::vector<Outgoing> one_message(int peer, std::size_t bytes, Tag tag = 7) {
  std::vector<Outgoing> sends;
  sends.push_back({peer, Payload(ByteBuffer(bytes)), tag});
  return sends;
}

TEST(GlooTransport, ConformsOnEveryWorld) {
  SKIP_WITHOUT_GLOO();
  for (const int world : {1, 2, 3, 4, 5, 7, 8, 16}) {
    run_gloo_ranks(world, [](std::unique_ptr<Transport> transport) {
      EXPECT_EQ(transport->kind(), "gloo");
      test::Conformance(*transport).everything(std::size_t{8} << 20);
    });
  }
}

TEST(GlooTransport, MovesLargeMessages) {
  SKIP_WITHOUT_GLOO();
  run_gloo_ranks(2, [](std::unique_ptr<Transport> transport) {
    test::Conformance(*transport).sizes(std::size_t{64} << 20);
  });
}

TEST(GlooTransport, ConnectionsFailAloneAndGroupsTogether) {
  SKIP_WITHOUT_GLOO();
  test::check_connections([](int world, const auto& body) { run_gloo_ranks(world, body); });
}

// Rank 0 wants messages of 1 and 2. Rank 1 sends only when it has heard from 2, and 2 speaks to 1
// only when its own large message has left. Served in order of ranks, none of them goes on.
TEST(GlooTransport, AWaitForOnePeerDoesNotStopAnother) {
  SKIP_WITHOUT_GLOO();
  constexpr std::size_t kLarge = std::size_t{32} << 20;
  run_gloo_ranks(3, [](std::unique_ptr<Transport> transport) {
    const Deadline deadline = Deadline::after(seconds(240));
    if (transport->rank() == 0) {
      const auto exchange = transport->start({}, {{1, 7}, {2, 7}});
      EXPECT_NE(exchange->next(deadline)->peer, exchange->next(deadline)->peer);
      exchange->finish(deadline);
    } else if (transport->rank() == 1) {
      receive(*transport, 2, deadline);
      transport->start(one_message(0, 1), {})->finish(deadline);
    } else {
      transport->start(one_message(0, kLarge), {})->finish(deadline);
      transport->start(one_message(1, 0), {})->finish(deadline);
    }
  });
}

TEST(GlooTransport, RefusesAWorldThatDiffersAmongRanks) {
  SKIP_WITHOUT_GLOO();
  const test::StoreDirectory store;
  auto first = std::async(std::launch::async, [&] {
    return error_of([&] { gloo::connect(gloo_options(store, 0, 2)); });
  });
  auto second = std::async(std::launch::async, [&] {
    return error_of([&] { gloo::connect(gloo_options(store, 1, 3)); });
  });
  EXPECT_NE(first.get().find("rank 1 was started with a world of 3 ranks"), std::string::npos);
  EXPECT_NE(second.get().find("rank 0 was started with a world of 2 ranks"), std::string::npos);
}

TEST(GlooTransport, RefusesARankThatIsTakenAndAStoreThatWasUsed) {
  SKIP_WITHOUT_GLOO();
  const test::StoreDirectory store;
  run_gloo_ranks({gloo_options(store, 0, 2), gloo_options(store, 1, 2)},
                 [](std::unique_ptr<Transport>) {});
  const std::string error = error_of([&] { gloo::connect(gloo_options(store, 1, 2)); });
  EXPECT_NE(error.find("rank 1 of prefix 'tandem' is taken"), std::string::npos) << error;
}

TEST(GlooTransport, GroupsShareAStoreUnderDifferentPrefixes) {
  SKIP_WITHOUT_GLOO();
  const test::StoreDirectory store;
  for (const char* prefix : {"one", "two"}) {
    auto ranks = {gloo_options(store, 0, 2), gloo_options(store, 1, 2)};
    std::vector<gloo::Options> named(ranks);
    for (auto& options : named) options.prefix = prefix;
    run_gloo_ranks(
        named, [](std::unique_ptr<Transport> transport) { test::Conformance(*transport).names(); });
  }
}

TEST(GlooTransport, SaysWhatIsWrongWithItsOptions) {
  SKIP_WITHOUT_GLOO();
  const test::StoreDirectory store;
  auto options = gloo_options(store, 2, 2);
  EXPECT_NE(error_of([&] { gloo::connect(options); }).find("rank 2 of 2"), std::string::npos);
  options = gloo_options(store, 0, 2);
  options.prefix = "../elsewhere";
  EXPECT_NE(error_of([&] { gloo::connect(options); }).find("prefix"), std::string::npos);
  options = gloo_options(store, 0, 2);
  options.interface = "nosuch0";
  EXPECT_NE(error_of([&] { gloo::connect(options); }).find("'nosuch0'"), std::string::npos);
  options = gloo_options(store, 0, 2);
  options.store_directory.clear();
  EXPECT_NE(error_of([&] { gloo::connect(options); }).find("name a store"), std::string::npos);
  options.store_directory = "/proc/nowhere";
  EXPECT_NE(error_of([&] { gloo::connect(options); }).find("/proc/nowhere"), std::string::npos);
}

TEST(GlooTransport, NamesTheRankThatDoesNotCome) {
  SKIP_WITHOUT_GLOO();
  const test::StoreDirectory store;
  std::vector<gloo::Options> ranks = {gloo_options(store, 0, 3), gloo_options(store, 2, 3)};
  for (auto& options : ranks) options.deadline = Deadline::after(milliseconds(200));
  const auto error =
      transport_error_of([&] { run_gloo_ranks(ranks, [](std::unique_ptr<Transport>) {}); });
  EXPECT_EQ(error.kind(), TransportError::Kind::kTimeout);
  EXPECT_EQ(error.peer(), 1);
}

// Rank 1 gave up: its addresses are in the store, but nobody is there.
TEST(GlooTransport, NamesARankThatWentBeforeTheGroupFormed) {
  SKIP_WITHOUT_GLOO();
  const test::StoreDirectory store;
  for (const int rank : {1, 0}) {
    auto options = gloo_options(store, rank, 2);
    options.deadline = Deadline::after(milliseconds(200));
    const auto error = transport_error_of([&] { gloo::connect(options); });
    EXPECT_EQ(error.peer(), 1 - rank);
  }
}

TEST(GlooTransport, ALateRankIsWaitedFor) {
  SKIP_WITHOUT_GLOO();
  const test::StoreDirectory store;
  auto early = std::async(std::launch::async,
                          [&] { return gloo::connect(gloo_options(store, 0, 2))->world(); });
  std::this_thread::sleep_for(milliseconds(100));
  const auto late = gloo::connect(gloo_options(store, 1, 2));
  EXPECT_EQ(early.get(), 2);
}

TEST(GlooTransport, TimesOutNamingTheSilentPeerAndStaysBroken) {
  SKIP_WITHOUT_GLOO();
  auto world = make_world(3);
  const auto error =
      transport_error_of([&] { receive(*world[0], 2, Deadline::after(milliseconds(50))); });
  EXPECT_EQ(error.kind(), TransportError::Kind::kTimeout);
  EXPECT_EQ(error.peer(), 2);
  const auto later = transport_error_of([&] { world[0]->start({}, {}); });
  EXPECT_EQ(later.kind(), TransportError::Kind::kTimeout);
}

TEST(GlooTransport, TimesOutWhenAMessageIsNotTaken) {
  SKIP_WITHOUT_GLOO();
  auto world = make_world(2);
  const auto exchange = world[0]->start(one_message(1, 100), {});
  const auto error =
      transport_error_of([&] { exchange->finish(Deadline::after(milliseconds(50))); });
  EXPECT_EQ(error.kind(), TransportError::Kind::kTimeout);
  EXPECT_EQ(error.peer(), 1);
  world[0]->abort("the peer does not take messages");
}

TEST(GlooTransport, SaysThatAPeerLeft) {
  SKIP_WITHOUT_GLOO();
  auto world = make_world(3);
  world[1].reset();
  const auto error =
      transport_error_of([&] { receive(*world[0], 1, Deadline::after(seconds(240))); });
  EXPECT_EQ(error.kind(), TransportError::Kind::kPeerLost);
  EXPECT_EQ(error.peer(), 1);
}

TEST(GlooTransport, TheLastMessageOfAPeerThatLeavesArrives) {
  SKIP_WITHOUT_GLOO();
  auto world = make_world(2);
  const auto wanted = world[0]->start({}, {{1, 7}});
  const Deadline deadline = Deadline::after(seconds(240));
  auto leaving = std::async(std::launch::async, [&] {
    world[1]->start(one_message(0, 10000), {})->finish(deadline);
    world[1].reset();
  });
  leaving.get();
  const auto message = wanted->next(deadline);
  EXPECT_EQ(message->payload.size(), 10000u);
}

TEST(GlooTransport, AbortReachesEveryRankThatWaitsWithItsReason) {
  SKIP_WITHOUT_GLOO();
  auto world = make_world(4);
  std::vector<std::future<TransportError>> waits;
  for (const std::size_t rank : {0u, 2u, 3u}) {
    waits.push_back(std::async(std::launch::async, [&, rank] {
      const int peer = rank == 0 ? 1 : 0;  // 2 and 3 wait for a rank that is alive
      return transport_error_of(
          [&] { receive(*world[rank], peer, Deadline::after(seconds(240))); });
    }));
  }
  world[1]->abort("out of patience");
  for (auto& wait : waits) {
    const TransportError error = wait.get();
    EXPECT_EQ(error.kind(), TransportError::Kind::kAborted);
    EXPECT_EQ(error.peer(), 1);
    EXPECT_NE(std::string(error.what()).find("out of patience"), std::string::npos);
  }
  const auto own = transport_error_of([&] { world[1]->start({}, {}); });
  EXPECT_EQ(own.kind(), TransportError::Kind::kAborted);
}

TEST(GlooTransport, AbortFromAnotherThreadEndsTheOwnWait) {
  SKIP_WITHOUT_GLOO();
  auto world = make_world(2);
  auto waiting = std::async(std::launch::async, [&] {
    return transport_error_of([&] { receive(*world[0], 1, Deadline::after(seconds(240))); });
  });
  std::this_thread::sleep_for(milliseconds(20));
  world[0]->abort("changed its mind");
  EXPECT_EQ(waiting.get().kind(), TransportError::Kind::kAborted);
}

// Large messages under way both ways, to a peer that reads and one that does not.
TEST(GlooTransport, AbortAmidLargeMessagesLeavesNothingRunning) {
  SKIP_WITHOUT_GLOO();
  auto world = make_world(3);
  auto reader = std::async(std::launch::async, [&] {
    return transport_error_of([&] {
      const auto exchange = world[1]->start(one_message(0, 50u << 20), {{0, 7}, {2, 7}});
      for (;;) exchange->next(Deadline::after(seconds(240)));
    });
  });
  {
    std::vector<Outgoing> sends = one_message(1, 50u << 20);
    sends.push_back({2, Payload(ByteBuffer(50u << 20)), 7});
    const auto exchange = world[0]->start(std::move(sends), {{1, 7}});
    const auto early = transport_error_of([&] {
      for (;;) exchange->finish(Deadline::after(milliseconds(30)));
    });
    EXPECT_EQ(early.kind(), TransportError::Kind::kTimeout);
    world[0]->abort("enough");
  }  // payloads are dropped here, the connections not yet
  EXPECT_EQ(reader.get().peer(), 0);
  world[0].reset();
}

TEST(GlooTransport, SurvivorsFormASmallerGroupInOldOrder) {
  SKIP_WITHOUT_GLOO();
  auto world = make_world(5);
  world[2].reset();
  std::vector<std::thread> threads;
  for (const int old_rank : {0, 1, 3, 4}) {
    threads.emplace_back([&, old_rank] {
      auto& transport = world[static_cast<std::size_t>(old_rank)];
      const auto error =
          transport_error_of([&] { receive(*transport, 2, Deadline::after(seconds(240))); });
      // Itself, or from a survivor that was faster to notice.
      EXPECT_NE(std::string(error.what()).find("rank 2 has left"), std::string::npos);
      // Not dead, so the others wait for it beyond the half second that they leave for the news.
      if (old_rank == 4) std::this_thread::sleep_for(milliseconds(700));
      const auto smaller = transport->shrink(Deadline::after(seconds(240)));
      EXPECT_EQ(smaller->world(), 4);
      EXPECT_EQ(smaller->rank(), old_rank < 2 ? old_rank : old_rank - 1);
      test::Conformance(*smaller).everything(std::size_t{1} << 20);
    });
  }
  for (auto& thread : threads) thread.join();
}

// Rank 3 is silent, not dead: the list closes without it, and it is told so when it comes.
TEST(GlooTransport, ARankThatComesAfterTheListIsClosedGetsAnError) {
  SKIP_WITHOUT_GLOO();
  auto world = make_world(4);
  world[0]->abort("rank 3 hangs");
  std::barrier names_seen(3);  // an abort may overtake the last message of a step
  std::vector<std::thread> threads;
  for (const std::size_t old_rank : {0u, 1u, 2u}) {
    threads.emplace_back([&, old_rank] {
      if (old_rank != 0) {
        transport_error_of([&] { receive(*world[old_rank], 0, Deadline::after(seconds(240))); });
      }
      const auto smaller = world[old_rank]->shrink(Deadline::after(seconds(2)));
      EXPECT_EQ(smaller->world(), 3);
      test::Conformance(*smaller).names();
      names_seen.arrive_and_wait();
      // Shrinks again, now to two.
      if (old_rank == 2) return;
      transport_error_of([&] { receive(*smaller, 2, Deadline::after(seconds(240))); });
      EXPECT_EQ(smaller->shrink(Deadline::after(seconds(240)))->world(), 2);
    });
  }
  for (auto& thread : threads) thread.join();
  transport_error_of([&] { receive(*world[3], 0, Deadline::after(seconds(240))); });
  const auto error = transport_error_of([&] { world[3]->shrink(Deadline::after(seconds(240))); });
  EXPECT_NE(std::string(error.what()).find("formed without rank 3"), std::string::npos);
}

TEST(GlooTransport, OnlyABrokenGroupShrinksAndOnlyOnce) {
  SKIP_WITHOUT_GLOO();
  auto world = make_world(1);
  EXPECT_NE(error_of([&] { world[0]->shrink(Deadline::after(seconds(1))); }).find("broken"),
            std::string::npos);
  world[0]->abort("to shrink");
  EXPECT_EQ(world[0]->shrink(Deadline::after(seconds(1)))->world(), 1);
  EXPECT_NE(error_of([&] { world[0]->shrink(Deadline::after(seconds(1))); }).find("before"),
            std::string::npos);
}

TEST(GlooTransport, RanksOfOneHostAndNetworkShareANode) {
  SKIP_WITHOUT_GLOO();
  const auto world = make_world(2);
  EXPECT_EQ(world[0]->node_name(), world[1]->node_name());
  EXPECT_NE(world[0]->node_name().find("net:"), std::string::npos) << world[0]->node_name();
}

}  // namespace
}  // namespace tandem::transport
