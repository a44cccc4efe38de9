// SPDX-License-Identifier: Apache-2.0
//
// Exercises: stream_connect between three kernels, side channels, kernels started in either order,
// one that is launched again for every packet.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <vector>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kPackets = 20, kPacket = 50, kCount = kPackets * kPacket;
constexpr std::chrono::seconds kLimit(10);

void links(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel send(device, uuid, "send"), adjust(device, uuid, "adjust"),
      receive(device, uuid, "receive");
  xrt::bo in(device, kCount * sizeof(int), send.group_id(0));
  xrt::bo sums(device, kPackets * sizeof(int), receive.group_id(0));
  int* const values = in.map<int*>();
  std::vector<int> expected(kPackets, 0);
  for (int i = 0; i < kCount; ++i) {
    values[i] = i * i % 1000;
    expected[static_cast<size_t>(i / kPacket)] += values[i] + i % 5;
  }
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  for (const bool receiver_first : {true, false}) {
    xrt::run receiving(receive), sending(send);
    receiving.set_arg(0, sums);
    receiving.set_arg(2, kPackets);
    sending.set_arg(0, in);
    sending.set_arg(2, kCount);
    sending.set_arg(3, kPacket);
    if (receiver_first) receiving.start();
    sending.start();
    // A queue of launches on one unit, one per packet.
    std::vector<xrt::run> adjusting;
    for (int packet = 0; packet < kPackets; ++packet) {
      adjusting.emplace_back(adjust);
      adjusting.back().start();
    }
    if (!receiver_first) {
      CHECK_EQ(sending.wait(kLimit), ERT_CMD_STATE_COMPLETED);
      receiving.start();
    }
    CHECK_EQ(receiving.wait(kLimit), ERT_CMD_STATE_COMPLETED);
    for (xrt::run& run : adjusting) CHECK_EQ(run.wait(kLimit), ERT_CMD_STATE_COMPLETED);
    sums.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    const int* const results = sums.map<int*>();
    for (int packet = 0; packet < kPackets; ++packet) {
      CHECK_EQ(results[packet], expected[static_cast<size_t>(packet)]);
    }
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, links); }
