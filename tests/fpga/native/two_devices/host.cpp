// SPDX-License-Identifier: Apache-2.0
//
// Exercises: several devices at once - each with its own memory, program and commands; a buffer
// exported by one and imported by the other carries data between them.
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <thread>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr uint32_t kSize = 1000;

struct Card {
  Card(unsigned int index, const std::string& xclbin)
      : device(index),
        kernel(device, device.load_xclbin(xclbin), "next"),
        in(device, kSize * 4, kernel.group_id(0)),
        out(device, kSize * 4, xrt::bo::flags::p2p, kernel.group_id(1)) {}
  void fill(uint32_t first) {
    for (uint32_t i = 0; i < kSize; ++i) in.map<uint32_t*>()[i] = first + i;
    in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  void run() { CHECK_EQ(kernel(in, out, kSize).wait(), ERT_CMD_STATE_COMPLETED); }
  void check(uint32_t first) {
    for (uint32_t i = 0; i < kSize; ++i) CHECK_EQ(out.map<uint32_t*>()[i], first + i);
  }
  xrt::device device;
  xrt::kernel kernel;
  xrt::bo in;
  xrt::bo out;
};

void apart(Card& first, Card& second) {
  first.fill(10);
  second.fill(5000);
  std::thread other([&] {
    for (int round = 0; round < 200; ++round) second.run();
  });
  for (int round = 0; round < 200; ++round) first.run();
  other.join();
  first.check(11);
  second.check(5001);
}

// first.out -> second.in, and through the second card's kernel.
void together(Card& first, Card& second) {
  first.fill(100);
  first.run();
  const auto exported = first.out.export_buffer();
  xrt::bo imported(second.device, exported);
  CHECK_EQ(imported.size(), first.out.size());
  second.in.copy(imported);
  second.run();
  second.check(102);
}

void cards(const Arguments& arguments) {
  Card first(0, arguments.xclbin);
  Card second(1, arguments.xclbin);
  apart(first, second);
  together(first, second);
  CHECK_THROWS(
      xrt::kernel(second.device, xrt::uuid("00000000-0000-0000-0000-000000000001"), "next"));
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, cards); }
