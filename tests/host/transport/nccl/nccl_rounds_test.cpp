// SPDX-License-Identifier: Apache-2.0
//
// The nccl transport over a fake NCCL: what every transport must do, deadlines, aborts and smaller
// groups, on machines without a GPU.
#include <gmock/gmock.h>

#include <atomic>
#include <barrier>

#include "host/transport/conformance.h"
#include "host/transport/nccl/fake_nccl.h"
#include "host/transport/nccl/nccl_world.h"

namespace tandem::transport::nccl {
namespace {

using std::chrono::milliseconds;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

Payload payload_of(std::size_t bytes) { return Payload(ByteBuffer(bytes, std::byte{7})); }

TEST(NcclRoundsTest, DoesWhatEveryTransportMustDo) {
  for (const int world : {1, 2, 3, 4}) {
    const auto errors = run_world(world, [](Transport& transport) {
      // sanitizers on a busy machine need their time
      test::Conformance(transport, Deadline::after(std::chrono::seconds(200)))
          .everything(std::size_t{1} << 20);
    });
    EXPECT_THAT(errors, Each(IsEmpty())) << "world " << world;
  }
}

TEST(NcclRoundsTest, AnOldLibraryIsRefusedWithTheVersionThatIsNeeded) {
  const NcclLibrary whole = fake_nccl();
  EXPECT_EQ(unavailable_reason(), "");
  fake_nccl().comm_finalize = nullptr;
  EXPECT_THAT(unavailable_reason(), HasSubstr("needs NCCL 2.14 or later"));
  EXPECT_THROW(make_unique_id(), Error);
  fake_nccl() = whole;
  fake_nccl().comm_init = nullptr;
  EXPECT_THAT(unavailable_reason(), HasSubstr("needs NCCL 2.14 or later"));
  fake_nccl() = whole;
}

TEST(NcclRoundsTest, NoConnectionFailsAlone) {
  const auto errors = run_world(2, [](Transport& transport) {
    EXPECT_FALSE(transport.fails_alone());
    transport.close(1 - transport.rank(), "not needed");
    EXPECT_THROW(transport.start({}, {}), TransportError);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

// Each rank waits for its send before it takes what the other has posted behind it.
TEST(NcclRoundsTest, SendsAndReceivesOfSeparateExchangesMeetInOneRound) {
  const auto errors = run_world(2, [](Transport& transport) {
    const auto deadline = Deadline::after(std::chrono::seconds(240));
    const int peer = 1 - transport.rank();
    std::vector<Outgoing> sends;
    sends.push_back({peer, payload_of(100'000), 1});
    const auto first = transport.start(std::move(sends), {});
    const auto second = transport.start({}, {{peer, 1}});
    first->finish(deadline);
    const auto message = second->next(deadline);
    if (!message || message->payload.size() != 100'000) throw Error("test", "no message");
    second->finish(deadline);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(NcclRoundsTest, ASilentPeerIsATimeoutThatNamesWhomTheRoundWaitedFor) {
  std::barrier done(2);
  const auto errors = run_world(2, [&](Transport& transport) {
    if (transport.rank() == 0) {
      const auto exchange = transport.start({}, {{1, 5}});
      try {
        exchange->next(Deadline::after(milliseconds(50)));
        ADD_FAILURE() << "a message from nobody";
      } catch (const TransportError& error) {
        EXPECT_EQ(error.kind(), TransportError::Kind::kTimeout);
        EXPECT_THAT(error.what(), HasSubstr("1"));
      }
      EXPECT_THROW(transport.start({}, {}), TransportError);
    }
    done.arrive_and_wait();
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(NcclRoundsTest, AbortFromAnotherThreadEndsAWaitWithItsReason) {
  std::barrier done(2);
  const auto errors = run_world(2, [&](Transport& transport) {
    if (transport.rank() == 0) {
      const auto exchange = transport.start({}, {{1, 5}});  // nobody can start one after the abort
      std::thread other([&] {
        std::this_thread::sleep_for(milliseconds(20));
        transport.abort("no more");
      });
      try {
        exchange->next(Deadline::after(std::chrono::seconds(240)));
        ADD_FAILURE() << "a message from nobody";
      } catch (const TransportError& error) {
        EXPECT_EQ(error.kind(), TransportError::Kind::kAborted);
        EXPECT_THAT(error.what(), HasSubstr("no more"));
      }
      other.join();
    }
    done.arrive_and_wait();
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(NcclRoundsTest, SurvivorsFormTheSmallerGroupAndExchangeInIt) {
  Options options;
  options.agree_on_survivors = [](Deadline) { return std::vector<int>{0, 2}; };
  const auto errors = run_world(
      3,
      [](Transport& transport) {
        if (transport.rank() == 1) return;  // leaves
        const auto exchange = transport.start({}, {{1, 0}});
        EXPECT_THROW(exchange->next(Deadline::after(milliseconds(50))), TransportError);
        const auto smaller = transport.shrink(Deadline::after(std::chrono::seconds(240)));
        EXPECT_EQ(smaller->world(), 2);
        EXPECT_EQ(smaller->rank(), transport.rank() / 2);
        test::Conformance(*smaller).everything(std::size_t{1} << 20);
      },
      options);
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST(NcclRoundsTest, ShrinkWithoutAWayToAgreeSaysWhatToSet) {
  run_world(1, [](Transport& transport) {
    transport.abort("test");
    try {
      transport.shrink(Deadline::never());
      ADD_FAILURE() << "shrunk";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("agree_on_survivors"));
    }
  });
}

}  // namespace
}  // namespace tandem::transport::nccl
