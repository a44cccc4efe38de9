// SPDX-License-Identifier: Apache-2.0
//
// Exercises: normal, cacheable, host-only, device-only, peer-to-peer and user-pointer buffers;
// their addresses, flags, groups and sizes; map, write and read; buffers too large for the card.
#include <unistd.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cstdlib>
#include <memory>
#include <numeric>

#include "application.h"

using namespace tandem::fpga_test;

namespace {

constexpr size_t kCount = 3000;
constexpr size_t kBytes = kCount * sizeof(uint32_t);

struct Card {
  explicit Card(const std::string& xclbin)
      : device(0), kernel(device, device.load_xclbin(xclbin), "increment") {}
  xrt::device device;
  xrt::kernel kernel;
};

// Runs the kernel from `in` to `out` and compares; both are filled and read by write() and read().
void through(Card& card, xrt::bo in, xrt::bo out, uint32_t first) {
  std::vector<uint32_t> values(kCount);
  std::iota(values.begin(), values.end(), first);
  in.write(values.data());
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  CHECK_EQ(card.kernel(in, out, static_cast<uint32_t>(kCount)).wait(), ERT_CMD_STATE_COMPLETED);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  std::vector<uint32_t> results(kCount);
  out.read(results.data());
  for (size_t i = 0; i < kCount; ++i) CHECK_EQ(results[i], first + i + 1);
}

void mapped_kinds(Card& card) {
  uint32_t first = 1;
  for (const auto flags : {xrt::bo::flags::normal, xrt::bo::flags::cacheable,
                           xrt::bo::flags::host_only, xrt::bo::flags::p2p}) {
    xrt::bo in(card.device, kBytes, flags, card.kernel.group_id(0));
    xrt::bo out(card.device, kBytes, flags, card.kernel.group_id(1));
    CHECK_EQ(in.size(), kBytes);
    CHECK(in.address() != out.address());
    CHECK(in.map() != out.map());
    CHECK(in.get_flags() == flags);
    through(card, in, out, first);
    first += 1000;
  }
}

void user_pointers(Card& card) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t room = (kBytes + page - 1) / page * page;
  std::unique_ptr<void, void (*)(void*)> memory(std::aligned_alloc(page, room), std::free);
  auto* values = static_cast<uint32_t*>(memory.get());
  xrt::bo in(card.device, values, kBytes, card.kernel.group_id(0));
  CHECK(in.map<uint32_t*>() == values);
  xrt::bo out(card.device, kBytes, card.kernel.group_id(1));
  for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<uint32_t>(7 * i);
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  card.kernel(in, out, static_cast<uint32_t>(kCount)).wait();
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (size_t i = 0; i < kCount; ++i) CHECK_EQ(out.map<uint32_t*>()[i], 7 * i + 1);
}

// The host cannot read a device-only buffer, so it is the link between two launches.
void device_only(Card& card) {
  xrt::bo in(card.device, kBytes, card.kernel.group_id(0));
  xrt::bo between(card.device, kBytes, xrt::bo::flags::device_only, card.kernel.group_id(1));
  xrt::bo out(card.device, kBytes, card.kernel.group_id(1));
  auto* values = in.map<uint32_t*>();
  std::iota(values, values + kCount, 50u);
  in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  card.kernel(in, between, static_cast<uint32_t>(kCount)).wait();
  card.kernel(between, out, static_cast<uint32_t>(kCount)).wait();
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (size_t i = 0; i < kCount; ++i) CHECK_EQ(out.map<uint32_t*>()[i], 52 + i);
  CHECK_THROWS(between.map());
}

void kinds(const Arguments& arguments) {
  Card card(arguments.xclbin);
  mapped_kinds(card);
  user_pointers(card);
  device_only(card);
  CHECK_THROWS(xrt::bo(card.device, size_t{1} << 45, card.kernel.group_id(0)));
  CHECK_THROWS(xrt::bo(card.device, nullptr, kBytes, card.kernel.group_id(0)));
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, kinds); }
