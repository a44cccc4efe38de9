// SPDX-License-Identifier: Apache-2.0
//
// Exercises: the life of a run - new, running, completed, aborted; wait with and without a time
// limit, callbacks, the command packet, abort of what runs and of what is queued.
#include <ert.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "application.h"

using namespace tandem::fpga_test;
using namespace std::chrono_literals;

namespace {

// Host and kernel share the buffer's memory: no sync between them.
struct Gate {
  Gate(xrt::device& device, xrt::kernel& kernel)
      : buffer(device, 4096, xrt::bo::flags::p2p, kernel.group_id(0)),
        flags(buffer.map<volatile uint32_t*>()),
        run(kernel) {
    close();
    run.set_arg(0, buffer);
  }
  void close() {
    flags[0] = 0;
    flags[1] = 0;
  }
  void open() { flags[0] = 1; }

  xrt::bo buffer;
  volatile uint32_t* flags;
  xrt::run run;
};

void life(xrt::device& device, xrt::kernel& kernel) {
  Gate gate(device, kernel);
  CHECK_EQ(gate.run.state(), ERT_CMD_STATE_NEW);
  CHECK_THROWS(gate.run.abort());
  const ert_packet* packet = gate.run.get_ert_packet();
  CHECK_EQ(static_cast<uint32_t>(packet->opcode), static_cast<uint32_t>(ERT_START_CU));
  for (int round = 0; round < 3; ++round) {
    gate.run.start();
    CHECK_EQ(gate.run.wait(20ms), ERT_CMD_STATE_TIMEOUT);
    CHECK(gate.run.state() < ERT_CMD_STATE_COMPLETED);
    CHECK_THROWS(gate.run.start());
    gate.open();
    CHECK_EQ(gate.run.wait(0ms), ERT_CMD_STATE_COMPLETED);
    CHECK_EQ(gate.run.wait(), ERT_CMD_STATE_COMPLETED);
    CHECK_EQ(gate.run.state(), ERT_CMD_STATE_COMPLETED);
    CHECK_EQ(static_cast<uint32_t>(packet->state), static_cast<uint32_t>(ERT_CMD_STATE_COMPLETED));
    CHECK_EQ(gate.flags[1], 1u);
    gate.close();
  }
}

void callbacks(xrt::device& device, xrt::kernel& kernel) {
  Gate gate(device, kernel);
  static std::atomic<int> calls{0};
  static std::atomic<int> state{0};
  const auto callback = [](const void*, ert_cmd_state reported, void* data) {
    state = reported;
    calls += *static_cast<int*>(data);
  };
  int one = 1, ten = 10;
  CHECK_THROWS(gate.run.add_callback(ERT_CMD_STATE_ABORT, callback, &one));
  gate.run.add_callback(ERT_CMD_STATE_COMPLETED, callback, &one);
  gate.run.add_callback(ERT_CMD_STATE_COMPLETED, callback, &ten);
  gate.run.start();
  CHECK_EQ(gate.run.wait(20ms), ERT_CMD_STATE_TIMEOUT);
  CHECK_EQ(calls.load(), 0);
  gate.open();
  CHECK_EQ(gate.run.wait(), ERT_CMD_STATE_COMPLETED);
  while (calls.load() < 11) std::this_thread::sleep_for(1ms);
  CHECK_EQ(state.load(), static_cast<int>(ERT_CMD_STATE_COMPLETED));
}

// Three commands for one unit: the second is aborted in the queue, the first while it runs.
void aborts(xrt::device& device, xrt::kernel& kernel) {
  Gate running(device, kernel), queued(device, kernel), last(device, kernel);
  running.run.start();
  queued.run.start();
  last.run.start();
  while (running.run.state() < ERT_CMD_STATE_RUNNING) std::this_thread::yield();
  CHECK_EQ(queued.run.abort(), ERT_CMD_STATE_ABORT);
  CHECK_EQ(running.run.abort(), ERT_CMD_STATE_ABORT);
  CHECK_EQ(running.run.state(), ERT_CMD_STATE_ABORT);
  running.open();  // what was aborted still holds the unit
  last.open();
  CHECK_EQ(last.run.wait(), ERT_CMD_STATE_COMPLETED);
  CHECK_EQ(queued.flags[1], 0u);
  CHECK_EQ(last.run.abort(), ERT_CMD_STATE_COMPLETED);
}

void states(const Arguments& arguments) {
  xrt::device device(0);
  const auto uuid = device.load_xclbin(arguments.xclbin);
  xrt::kernel first(device, uuid, "gate:{first}");
  life(device, first);
  callbacks(device, first);
  aborts(device, first);
  // The other unit never waited for the first.
  xrt::kernel second(device, uuid, "gate:{second}");
  life(device, second);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, states); }
