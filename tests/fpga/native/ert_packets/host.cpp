// SPDX-License-Identifier: Apache-2.0
//
// Exercises: command packets by the lowest API (xclExecBuf, xclExecWait) - start with a register
// map, with pairs of offset and value, with masks beyond the first; copies of buffers; abort of an
// unknown command; packets that are malformed or not for such cards.
#include <dlfcn.h>
#include <ert.h>
#include <experimental/xrt-next.h>
#include <experimental/xrt_xclbin.h>
#include <xrt.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstring>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

// Programs reach the shim through XRT; this one calls it by name.
template <typename Function>
Function* shim(Function*, const char* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  if (found == nullptr) throw std::runtime_error(std::string("no function ") + name);
  return found;
}
#define SHIM(function) shim(static_cast<decltype(&function)>(nullptr), #function)

class Packet {
 public:
  explicit Packet(xclDeviceHandle device)
      : device_(device),
        id_(SHIM(xclAllocBO)(device, 4096, 0, XCL_BO_FLAGS_EXECBUF)),
        words_(static_cast<uint32_t*>(SHIM(xclMapBO)(device, id_, true))) {
    std::memset(words_, 0, 4096);
  }
  ~Packet() { SHIM(xclFreeBO)(device_, id_); }
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

  uint32_t& operator[](size_t word) { return words_[word]; }
  void header(uint32_t opcode, uint32_t count, uint32_t extra_masks = 0) {
    words_[0] = ERT_CMD_STATE_NEW | extra_masks << 10 | count << 12 | opcode << 23;
  }
  int submit() { return SHIM(xclExecBuf)(device_, id_); }
  // State after submission and, if it was taken, the end of the command.
  uint32_t run() {
    if (submit() != 0) return ERT_CMD_STATE_MAX;
    while (state() < ERT_CMD_STATE_COMPLETED) SHIM(xclExecWait)(device_, 1000);
    return state();
  }
  uint32_t state() const { return *const_cast<volatile uint32_t*>(words_) & 0xf; }

 private:
  xclDeviceHandle device_;
  xclBufferHandle id_;
  uint32_t* words_;
};

struct Card {
  explicit Card(const std::string& xclbin)
      : device(0),
        kernel(device, device.load_xclbin(xclbin), "combine"),
        out(device, 4096, kernel.group_id(2)),
        handle(device) {}
  uint32_t result() {
    out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    return out.map<uint32_t*>()[0];
  }
  uint32_t low() const { return static_cast<uint32_t>(out.address()); }
  uint32_t high() const { return static_cast<uint32_t>(out.address() >> 32); }
  xrt::device device;
  xrt::kernel kernel;
  xrt::bo out;
  xclDeviceHandle handle;
};

void starts(Card& card) {
  const uint32_t a = card.kernel.offset(0), b = card.kernel.offset(1), out = card.kernel.offset(2);
  {
    Packet packet(card.handle);
    packet.header(ERT_START_CU, 1 + 16);
    packet[1] = 1;
    packet[2 + a / 4] = 7;
    packet[2 + b / 4] = 3;
    packet[2 + out / 4] = card.low();
    packet[2 + out / 4 + 1] = card.high();
    CHECK_EQ(packet.run(), static_cast<uint32_t>(ERT_CMD_STATE_COMPLETED));
    CHECK_EQ(card.result(), 307u);
  }
  const uint32_t pairs[] = {a, 9, b, 5, out, card.low(), out + 4, card.high()};
  {
    Packet packet(card.handle);  // unit 33 is in the second mask; six words are for XRT
    packet.header(ERT_EXEC_WRITE, 2 + 6 + 8, 1);
    packet[2] = 2;
    for (size_t i = 0; i < 8; ++i) packet[3 + 6 + i] = pairs[i];
    CHECK_EQ(packet.run(), static_cast<uint32_t>(ERT_CMD_STATE_COMPLETED));
    CHECK_EQ(card.result(), 509u);
  }
  Packet packet(card.handle);
  packet.header(ERT_START_KEY_VAL, 1 + 8);
  packet[1] = 4;
  for (size_t i = 0; i < 8; ++i) packet[2 + i] = pairs[i];
  packet[3] = 11;
  CHECK_EQ(packet.run(), static_cast<uint32_t>(ERT_CMD_STATE_COMPLETED));
  CHECK_EQ(card.result(), 511u);
}

void copies(Card& card) {
  const auto allocate = [&] {
    return SHIM(xclAllocBO)(card.handle, 4096, 0,
                            static_cast<unsigned int>(card.kernel.group_id(2)));
  };
  const xclBufferHandle from = allocate(), to = allocate();
  const uint32_t values[] = {1, 2, 3, 4};
  SHIM(xclWriteBO)(card.handle, from, values, sizeof(values), 64);
  Packet packet(card.handle);
  ert_fill_copybo_cmd(reinterpret_cast<ert_start_copybo_cmd*>(&packet[0]), from, to, 64, 128,
                      sizeof(values));
  CHECK_EQ(packet.run(), static_cast<uint32_t>(ERT_CMD_STATE_COMPLETED));
  uint32_t copied[4] = {};
  SHIM(xclReadBO)(card.handle, to, copied, sizeof(copied), 128);
  CHECK(std::memcmp(copied, values, sizeof(values)) == 0);
  ert_fill_copybo_cmd(reinterpret_cast<ert_start_copybo_cmd*>(&packet[0]), from, to, 0, 4096, 64);
  CHECK_EQ(packet.run(), static_cast<uint32_t>(ERT_CMD_STATE_ERROR));
  SHIM(xclFreeBO)(card.handle, from);
  SHIM(xclFreeBO)(card.handle, to);
}

void mistakes(Card& card) {
  for (const uint32_t opcode : {ERT_START_FA, ERT_SK_START, ERT_SK_CONFIG}) {
    Packet packet(card.handle);
    packet.header(opcode, 8);
    packet[1] = 1;
    CHECK(packet.submit() != 0);
  }
  Packet no_unit(card.handle);
  no_unit.header(ERT_START_CU, 8);
  CHECK(no_unit.submit() != 0);
  Packet no_such_unit(card.handle);
  no_such_unit.header(ERT_START_CU, 8, 3);
  no_such_unit[4] = 1u << 31;
  CHECK(no_such_unit.submit() != 0);
  Packet too_long(card.handle);
  too_long.header(ERT_START_CU, 2047);
  too_long[1] = 1;
  CHECK(too_long.submit() != 0);
  Packet outside(card.handle);
  outside.header(ERT_START_KEY_VAL, 3);
  outside[1] = 1;
  outside[2] = 1 << 20;
  CHECK_EQ(outside.run(), static_cast<uint32_t>(ERT_CMD_STATE_ERROR));
  Packet abort(card.handle);
  abort.header(ERT_ABORT, 2);
  abort[1] = 12345;
  CHECK_EQ(abort.run(), static_cast<uint32_t>(ERT_CMD_STATE_ERROR));
  CHECK(SHIM(xclExecBuf)(card.handle, 99999) != 0);
}

void packets(const Arguments& arguments) {
  Card card(arguments.xclbin);
  starts(card);
  copies(card);
  mistakes(card);
  starts(card);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, packets); }
