// SPDX-License-Identifier: Apache-2.0
//
// Exercises: xrt::ip - a unit run by its registers: arguments, start, done, idle, outputs,
// interrupts with and without a time limit, and the auto-restart bit.
#include <experimental/xrt_ip.h>
#include <experimental/xrt_xclbin.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>

#include <chrono>
#include <thread>

#include "application.h"

using namespace tandem::fpga_test;
using namespace std::chrono_literals;

namespace {

constexpr uint32_t kStart = 1, kDone = 2, kIdle = 4, kAutoRestart = 0x80;

class Unit {
 public:
  Unit(xrt::device& device, const xrt::xclbin& xclbin, const std::string& name)
      : ip(device, xclbin.get_uuid(), "square:{" + name + "}"),
        out(device, 4096, xrt::bo::flags::p2p,
            static_cast<xrt::memory_group>(
                xclbin.get_ip("square:" + name).get_arg(1).get_mems().at(0).get_index())),
        memory(out.map<volatile uint32_t*>()) {
    const auto kernel = xclbin.get_kernel("square");
    for (int i = 0; i < 3; ++i) offsets[i] = static_cast<uint32_t>(kernel.get_arg(i).get_offset());
    memory[0] = 0;
    memory[1] = 0;
    ip.write_register(offsets[1], static_cast<uint32_t>(out.address()));
    ip.write_register(offsets[1] + 4, static_cast<uint32_t>(out.address() >> 32));
  }
  void start(uint32_t in, uint32_t control = kStart) {
    ip.write_register(offsets[0], in);
    ip.write_register(0, control);
  }
  void check(uint32_t in) {
    CHECK_EQ(memory[0], in * in);
    CHECK_EQ(ip.read_register(offsets[2]), in + 1);
    CHECK_EQ(ip.read_register(offsets[0]), in);
  }

  xrt::ip ip;
  xrt::bo out;
  volatile uint32_t* memory;
  uint32_t offsets[3] = {};
};

void poll(Unit& unit) {
  CHECK_EQ(unit.ip.read_register(0) & kIdle, kIdle);
  for (uint32_t in = 2; in < 20; ++in) {
    unit.start(in);
    while ((unit.ip.read_register(0) & kDone) == 0) std::this_thread::yield();
    CHECK_EQ(unit.ip.read_register(0) & kDone, 0u);  // cleared by reading
    unit.check(in);
  }
  CHECK_THROWS(unit.ip.read_register(1 << 20));
}

void interrupts(Unit& unit) {
  auto notification = unit.ip.create_interrupt_notify();
  unit.ip.write_register(0x4, 1);  // globally enabled
  unit.ip.write_register(0x8, 1);  // on done
  CHECK(notification.wait(20ms) == std::cv_status::timeout);
  for (uint32_t in = 30; in < 40; ++in) {
    unit.start(in);
    CHECK(notification.wait(10000ms) == std::cv_status::no_timeout);
    unit.check(in);
    CHECK_EQ(unit.ip.read_register(0xc) & 1u, 1u);
    unit.ip.write_register(0xc, 1);
    CHECK_EQ(unit.ip.read_register(0xc) & 1u, 0u);
  }
  unit.start(50);
  notification.wait();
  unit.check(50);
  notification.disable();
  unit.start(51);
  CHECK(notification.wait(50ms) == std::cv_status::timeout);
}

// The unit starts itself again until the bit is cleared, and sees new arguments.
void by_itself(Unit& unit) {
  const uint32_t before = unit.memory[1];
  unit.start(60, kStart | kAutoRestart);
  while (unit.memory[1] - before < 100) std::this_thread::yield();
  unit.ip.write_register(unit.offsets[0], 61);
  while (unit.memory[0] != 61 * 61) std::this_thread::yield();
  unit.ip.write_register(0, 0);
  while ((unit.ip.read_register(0) & kIdle) == 0) std::this_thread::yield();
  const uint32_t stopped = unit.memory[1];
  std::this_thread::sleep_for(10ms);
  CHECK_EQ(unit.memory[1], stopped);
}

void registers(const Arguments& arguments) {
  xrt::device device(0);
  const xrt::xclbin xclbin(arguments.xclbin);
  device.load_xclbin(xclbin);
  Unit first(device, xclbin, "square_1");
  Unit second(device, xclbin, "square_2");
  poll(first);
  interrupts(second);
  by_itself(first);
  CHECK_THROWS(xrt::ip(device, xclbin.get_uuid(), "square"));
  CHECK_THROWS(xrt::ip(device, xclbin.get_uuid(), "square:{square_3}"));
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, registers); }
