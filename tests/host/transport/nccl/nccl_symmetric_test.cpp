// SPDX-License-Identifier: Apache-2.0
//
// The nccl transport over symmetric windows, with doubles of NCCL's functions and of the kernel:
// what every transport must do, ends of waits, and the reasons why windows cannot be had.
#include <gmock/gmock.h>

#include <barrier>

#include "host/transport/conformance.h"
#include "host/transport/nccl/fake_nccl.h"
#include "host/transport/nccl/nccl_world.h"
#include "transport/nccl/symmetric_move.h"

namespace tandem::transport::nccl {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;

Options symmetric_options() {
  Options options;
  options.symmetric = true;
  return options;
}

std::vector<std::string> run_symmetric_world(
    int world, const std::function<void(Transport&)>& body,
    const std::function<std::vector<int>(Deadline)>& survivors = nullptr) {
  Options options = symmetric_options();
  options.agree_on_survivors = survivors;
  return run_world(world, body, options);
}

class NcclSymmetric : public testing::Test {
 protected:
  void SetUp() override {
    fake_counts().groups = fake_counts().windows = fake_counts().kernels = 0;
  }
  void TearDown() override { fake_nccl() = whole_; }

  const NcclLibrary whole_ = fake_nccl();
};

TEST_F(NcclSymmetric, DoesWhatEveryTransportMustDoWithoutGroups) {
  for (const int world : {1, 2, 3, 4}) {
    const auto errors = run_symmetric_world(world, [](Transport& transport) {
      test::Conformance(transport, Deadline::after(std::chrono::seconds(200)))
          .everything(std::size_t{1} << 20);
    });
    EXPECT_THAT(errors, Each(IsEmpty())) << "world " << world;
  }
  EXPECT_EQ(fake_counts().groups, 0);
  EXPECT_GT(fake_counts().kernels, 0);
  EXPECT_EQ(fake_counts().windows, 0) << "all are given back";
}

// More pieces than slots, in both directions at once, of sizes around a slot.
TEST_F(NcclSymmetric, LongMessagesGoInPiecesAndArriveWhole) {
  const auto errors = run_symmetric_world(2, [](Transport& transport) {
    const auto deadline = Deadline::after(std::chrono::seconds(240));
    const int peer = 1 - transport.rank();
    Tag tag = 0;
    for (const std::size_t slots : {1u, 2u, 3u, 7u}) {
      for (const int more : {-1, 0, 1}) {
        const std::size_t bytes =
            slots * SymmetricLayout::kSlotBytes + 16 * 1024 + static_cast<std::size_t>(more);
        ByteBuffer own(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
          own[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(transport.rank()));
        }
        std::vector<Outgoing> sends;
        sends.push_back({peer, Payload(std::move(own)), ++tag});
        const auto exchange = transport.start(std::move(sends), {{peer, tag}});
        const auto message = exchange->next(deadline);
        exchange->finish(deadline);
        if (!message || message->payload.size() != bytes) throw Error("test", "no message");
        for (std::size_t i = 0; i < bytes; ++i) {
          if (message->payload.bytes()[i] !=
              static_cast<std::byte>(i * 31 + static_cast<std::size_t>(peer))) {
            throw Error("test", "byte " + std::to_string(i) + " differs");
          }
        }
      }
    }
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

TEST_F(NcclSymmetric, ASilentPeerIsATimeoutAndItsKernelEnds) {
  std::barrier done(2);
  const auto errors = run_symmetric_world(2, [&](Transport& transport) {
    if (transport.rank() == 0) {
      const auto exchange = transport.start({}, {{1, 5}});
      try {
        exchange->next(Deadline::after(std::chrono::milliseconds(50)));
        ADD_FAILURE() << "a message from nobody";
      } catch (const TransportError& error) {
        EXPECT_EQ(error.kind(), TransportError::Kind::kTimeout);
      }
    }
    done.arrive_and_wait();
  });
  EXPECT_THAT(errors, Each(IsEmpty())) << "and the transport's end waits for no kernel";
}

TEST_F(NcclSymmetric, SurvivorsHaveANewWindow) {
  const auto survivors = [](Deadline) { return std::vector<int>{0, 2}; };
  const auto errors = run_symmetric_world(
      3,
      [](Transport& transport) {
        if (transport.rank() == 1) return;  // leaves
        const auto exchange = transport.start({}, {{1, 0}});
        EXPECT_THROW(exchange->next(Deadline::after(std::chrono::milliseconds(50))),
                     TransportError);
        const auto smaller = transport.shrink(Deadline::after(std::chrono::seconds(240)));
        test::Conformance(*smaller).everything(std::size_t{1} << 20);
      },
      survivors);
  EXPECT_THAT(errors, Each(IsEmpty()));
  EXPECT_EQ(fake_counts().groups, 0);
}

TEST_F(NcclSymmetric, WhyThereIsNoWindowIsTold) {
  const auto nothing = [](Transport&) {};
  fake_nccl().team_lsa = [](ncclComm_t) { return NcclTeam{1, 0, 1}; };
  EXPECT_THAT(run_symmetric_world(2, nothing),
              Each(HasSubstr("symmetric windows need all 2 ranks within reach of loads and stores "
                             "(one node with NVLink or peer access); NCCL finds 1")));
  fake_nccl() = whole_;
  fake_nccl().team_lsa = nullptr;
  EXPECT_THAT(run_symmetric_world(2, nothing),
              Each(HasSubstr("libnccl.so.2 is too old: symmetric windows need NCCL 2.28")));
  fake_nccl() = whole_;
  fake_nccl().window_register = [](ncclComm_t, void*, std::size_t, NcclWindow* window, int) {
    *window = nullptr;
    return ncclSuccess;
  };
  EXPECT_THAT(run_symmetric_world(2, nothing), Each(HasSubstr("registers no symmetric window")));
  fake_nccl() = whole_;
  EXPECT_THAT(run_world(2, nothing), Each(IsEmpty())) << "groups need no window";
}

}  // namespace
}  // namespace tandem::transport::nccl
