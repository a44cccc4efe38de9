// SPDX-License-Identifier: Apache-2.0
//
// The inproc transport: conformance on every world, and the behaviour when ranks fail.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "host/transport/conformance.h"
#include "host/transport/connections.h"
#include "support/ranks.h"
#include "transport/inproc/inproc.h"

namespace tandem::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TransportError error_of_waiting(Transport& transport, int peer, Deadline deadline) {
  try {
    transport.start({}, {{peer, 0}})->next(deadline);
  } catch (const TransportError& error) {
    return error;
  }
  throw std::runtime_error("a wait that must fail succeeded");
}

TEST(InprocTransport, ConformsOnEveryWorld) {
  for (const int world : {1, 2, 3, 4, 5, 7, 8, 16}) {
    test::run_ranks(world, [](std::unique_ptr<Transport> transport) {
      test::Conformance(*transport).everything(std::size_t{16} << 20);
    });
  }
}

TEST(InprocTransport, MovesLargeMessages) {
  test::run_ranks(2, [](std::unique_ptr<Transport> transport) {
    test::Conformance(*transport).sizes(std::size_t{64} << 20);
  });
}

TEST(InprocTransport, ConnectionsFailAloneAndGroupsTogether) {
  test::check_connections(test::run_ranks);
}

class IdleTransport final : public Transport {
 public:
  IdleTransport(int rank, int world) : Transport(rank, world) {}
  std::string_view kind() const override { return "idle"; }
  std::string node_name() const override { return "nowhere"; }
  bool fails_alone() const override { return true; }
  void set_failure_scope(FailureScope) override {}
  void close(int, const std::string&) noexcept override {}
  void abort(const std::string&) noexcept override {}
  std::unique_ptr<Transport> shrink(Deadline) override { return nullptr; }

 private:
  std::unique_ptr<Exchange> do_start(std::vector<Outgoing>, std::vector<Source>) override {
    return nullptr;
  }
};

TEST(Transport, HasARankOfItsWorld) {
  EXPECT_NO_THROW(IdleTransport(1, 2));
  EXPECT_THROW(IdleTransport(2, 2), Error);
  EXPECT_THROW(IdleTransport(-1, 2), Error);
  EXPECT_THROW(IdleTransport(0, 0), Error);
}

TEST(InprocTransport, KeepsTheFirstAbortOfAGroup) {
  auto world = inproc::make_world(3);
  world[2]->set_failure_scope(FailureScope::kGroup);
  world[0]->abort("the first");
  world[1]->abort("the second");
  for (const int peer : {0, 1}) {
    const auto error = error_of_waiting(*world[2], peer, Deadline::after(seconds(240)));
    EXPECT_EQ(error.peer(), 0);
    EXPECT_NE(std::string(error.what()).find("the first"), std::string::npos) << error.what();
  }
}

TEST(InprocTransport, ShrinksWithoutTheRankThatComesLate) {
  auto world = inproc::make_world(2);
  world[0]->abort("one is late");
  const auto smaller = world[0]->shrink(Deadline::after(milliseconds(1)));
  EXPECT_EQ(smaller->world(), 1);
  try {
    world[1]->shrink(Deadline::after(seconds(240)));
    FAIL() << "the smaller group has no place for it";
  } catch (const TransportError& error) {
    EXPECT_NE(std::string(error.what()).find("without rank 1"), std::string::npos) << error.what();
  }
}

TEST(InprocTransport, TimesOutNamingTheLatePeer) {
  auto world = inproc::make_world(3);
  const auto error = error_of_waiting(*world[0], 2, Deadline::after(milliseconds(20)));
  EXPECT_EQ(error.kind(), TransportError::Kind::kTimeout);
  EXPECT_EQ(error.peer(), 2);
}

TEST(InprocTransport, SaysThatAPeerLeft) {
  auto world = inproc::make_world(3);
  world[1].reset();
  const auto error = error_of_waiting(*world[0], 1, Deadline::after(seconds(240)));
  EXPECT_EQ(error.kind(), TransportError::Kind::kPeerLost);
  EXPECT_EQ(error.peer(), 1);
}

TEST(InprocTransport, AbortReachesARankThatWaits) {
  auto world = inproc::make_world(2);
  auto waiting = std::async(std::launch::async, [&] {
    return error_of_waiting(*world[0], 1, Deadline::after(seconds(240)));
  });
  world[1]->abort("out of patience");
  const TransportError error = waiting.get();
  EXPECT_EQ(error.kind(), TransportError::Kind::kAborted);
  EXPECT_EQ(error.peer(), 1);
  EXPECT_NE(std::string(error.what()).find("out of patience"), std::string::npos);
}

TEST(InprocTransport, SurvivorsFormASmallerGroupInOldOrder) {
  auto world = inproc::make_world(5);
  world[2].reset();
  world[0]->abort("rank 2 died");
  std::vector<std::thread> threads;
  std::atomic<int> sum_of_places{0};
  for (const int old_rank : {0, 1, 3, 4}) {
    threads.emplace_back([&, old_rank] {
      const auto smaller =
          world[static_cast<std::size_t>(old_rank)]->shrink(Deadline::after(seconds(240)));
      EXPECT_EQ(smaller->world(), 4);
      EXPECT_EQ(smaller->rank(), old_rank < 2 ? old_rank : old_rank - 1);
      sum_of_places += smaller->rank();
      test::Conformance(*smaller).everything(std::size_t{1} << 20);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sum_of_places, 0 + 1 + 2 + 3);
}

}  // namespace
}  // namespace tandem::transport
