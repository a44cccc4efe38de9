// SPDX-License-Identifier: Apache-2.0
//
// A group keeps its first error, whatever happens to its connections afterwards.
#include "collectives/frames/group_transport.h"

#include <gmock/gmock.h>

#include <chrono>

#include "transport/inproc/inproc.h"

namespace tandem::collectives {
namespace {

using std::chrono::milliseconds;
using transport::Transport;
using transport::TransportError;
using Kind = TransportError::Kind;

template <typename Call>
TransportError error_of(const Call& call) {
  try {
    call();
  } catch (const TransportError& error) {
    return error;
  }
  throw std::runtime_error("what must fail succeeded");
}

TEST(GroupTransport, TheFirstErrorStays) {
  auto world = transport::inproc::make_world(3);
  GroupTransport group(std::move(world[0]));
  const auto late = group.start({}, {{2, 1}});
  const auto lost = group.start({}, {{1, 1}});
  const auto first = error_of([&] { late->next(Deadline::after(milliseconds(10))); });
  EXPECT_EQ(first.kind(), Kind::kTimeout);
  world[1].reset();
  EXPECT_EQ(error_of([&] { lost->next(Deadline::never()); }).kind(), Kind::kPeerLost);
  for (int call = 0; call < 2; ++call) {
    const auto later = error_of([&] { group.start({}, {}); });
    EXPECT_EQ(later.kind(), Kind::kTimeout);
    EXPECT_EQ(later.peer(), 2);
    EXPECT_STREQ(later.what(), first.what());
  }
}

TEST(GroupTransport, TellsItsPeersOfItsErrorWhenItShrinks) {
  auto world = transport::inproc::make_world(2);
  GroupTransport group(std::move(world[0]));
  const auto late = group.start({}, {{1, 1}});
  error_of([&] { late->next(Deadline::after(milliseconds(1))); });
  group.shrink(Deadline::after(milliseconds(1)));
  const auto told = error_of([&] {
    world[1]->start({}, {{0, 1}})->next(Deadline::after(std::chrono::seconds(30)));
  });
  EXPECT_EQ(told.kind(), Kind::kAborted);
  EXPECT_THAT(told.what(), testing::HasSubstr("no message from rank 1"));
}

TEST(GroupTransport, AnErrorOfFinishBreaksItToo) {
  class NeverSent final : public transport::Exchange {
   public:
    explicit NeverSent(transport::Traffic& traffic) : Exchange(traffic) {}
    void finish(Deadline) override { throw TransportError(Kind::kTimeout, 1, "not taken"); }

   private:
    std::optional<transport::Incoming> do_next(Deadline) override { return std::nullopt; }
  };
  class Stuck final : public Transport {
   public:
    Stuck() : Transport(0, 2) {}
    std::string_view kind() const override { return "stuck"; }
    std::string node_name() const override { return "here"; }
    bool fails_alone() const override { return true; }
    void set_failure_scope(transport::FailureScope) override {}
    void close(int, const std::string&) noexcept override {}
    void abort(const std::string&) noexcept override {}
    std::unique_ptr<Transport> shrink(Deadline) override { return nullptr; }

   private:
    std::unique_ptr<transport::Exchange> do_start(std::vector<transport::Outgoing>,
                                                  std::vector<transport::Source>) override {
      return std::make_unique<NeverSent>(counters());
    }
  };
  GroupTransport group(std::make_unique<Stuck>());
  EXPECT_FALSE(group.fails_alone());
  const auto exchange = group.start({}, {});
  EXPECT_EQ(error_of([&] { exchange->finish(Deadline::never()); }).kind(), Kind::kTimeout);
  EXPECT_EQ(error_of([&] { group.start({}, {}); }).kind(), Kind::kTimeout);
}

TEST(GroupTransport, ClosingOneConnectionEndsTheGroup) {
  auto world = transport::inproc::make_world(3);
  GroupTransport group(std::move(world[0])), other(std::move(world[2]));
  group.close(1, "one is enough");
  const auto error = error_of([&] { other.start({}, {{1, 1}})->next(Deadline::never()); });
  EXPECT_EQ(error.kind(), Kind::kAborted);
  EXPECT_EQ(error.peer(), 0);
  EXPECT_THAT(error.what(), testing::HasSubstr("one is enough"));
}

}  // namespace
}  // namespace tandem::collectives
