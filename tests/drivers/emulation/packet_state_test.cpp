// SPDX-License-Identifier: Apache-2.0
//
// The state of a command packet when two sides write it: an end, once written, stays.
#include "emulation/protocol/packet_state.h"

#include <gtest/gtest.h>

#include <thread>

namespace tandem::emulation {
namespace {

constexpr uint32_t kOtherBits = 0xabcdef0;

TEST(PacketState, RunningIsRefusedByAPacketThatHasEnded) {
  for (uint32_t ended : {ERT_CMD_STATE_COMPLETED, ERT_CMD_STATE_ERROR, ERT_CMD_STATE_ABORT,
                         ERT_CMD_STATE_TIMEOUT, ERT_CMD_STATE_NORESPONSE}) {
    uint32_t header = kOtherBits | ended;
    EXPECT_FALSE(set_packet_running(&header));
    EXPECT_EQ(header, kOtherBits | ended);
  }
}

TEST(PacketState, RunningKeepsTheOtherBitsOfThePacketsHeader) {
  for (uint32_t open : {ERT_CMD_STATE_NEW, ERT_CMD_STATE_QUEUED, ERT_CMD_STATE_SUBMITTED}) {
    uint32_t header = kOtherBits | open;
    EXPECT_TRUE(set_packet_running(&header));
    EXPECT_EQ(header, kOtherBits | ERT_CMD_STATE_RUNNING);
  }
}

TEST(PacketState, AnAbortWinsOverAStartThatComesAtTheSameTime) {
  for (int round = 0; round < 2000; ++round) {
    uint32_t header = ERT_CMD_STATE_NEW;
    std::thread unit([&] { set_packet_running(&header); });
    set_packet_state(&header, ERT_CMD_STATE_ABORT);
    unit.join();
    ASSERT_EQ(header, uint32_t{ERT_CMD_STATE_ABORT});
  }
}

}  // namespace
}  // namespace tandem::emulation
