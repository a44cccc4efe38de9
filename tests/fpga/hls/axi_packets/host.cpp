// SPDX-License-Identifier: Apache-2.0
//
// Exercises: ap_axiu with keep, strb, user, dest and last over a stream between two kernels.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <numeric>
#include <random>
#include <vector>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr uint32_t kPackets = 50;

void transfer(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel send(device, uuid, "send"), receive(device, uuid, "receive");
  std::mt19937 random(3);
  std::vector<uint32_t> sizes(kPackets);
  for (auto& size : sizes) size = 17 + random() % 100;
  const uint32_t total = std::accumulate(sizes.begin(), sizes.end(), 0u);
  xrt::bo bytes(device, total, send.group_id(0)), lengths(device, kPackets * 4, send.group_id(1)),
      got(device, total, receive.group_id(1)), marks(device, kPackets * 4, receive.group_id(2));
  auto* sent = bytes.map<uint8_t*>();
  for (uint32_t i = 0; i < total; ++i) sent[i] = static_cast<uint8_t>(random());
  std::copy(sizes.begin(), sizes.end(), lengths.map<uint32_t*>());
  bytes.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  lengths.sync(XCL_BO_SYNC_BO_TO_DEVICE);

  xrt::run receiving(receive), sending(send);
  receiving.set_arg(1, got);
  receiving.set_arg(2, marks);
  receiving.set_arg(3, kPackets);
  receiving.start();
  sending.set_arg(0, bytes);
  sending.set_arg(1, lengths);
  sending.set_arg(2, kPackets);
  sending.start();
  CHECK_EQ(sending.wait(), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(receiving.wait(), ERT_CMD_STATE_COMPLETED);
  got.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  marks.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const auto* received = got.map<uint8_t*>();
  const auto* mark = marks.map<uint32_t*>();
  for (uint32_t i = 0; i < total; ++i) CHECK_EQ(received[i], sent[i]);
  for (uint32_t packet = 0; packet < kPackets; ++packet) {
    CHECK_EQ(mark[packet], sizes[packet] | packet << 16 | (packet % 16) << 24);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, transfer); }
