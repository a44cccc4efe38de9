// SPDX-License-Identifier: Apache-2.0
//
// Buffers of emulated cards: host copies, device copies, banks, sharing.
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "emulated_cards.h"

namespace tandem::emulation_test {
namespace {

constexpr size_t kLarge = size_t{64} << 20;

TEST(Buffer, LargeCopiesComeBackUnchanged) {
  TrialCard card;
  xrt::bo buffer(card.device, kLarge, card.kernel.group_id(2));
  auto* data = buffer.map<uint64_t*>();
  std::iota(data, data + kLarge / 8, uint64_t{0x123456789});
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  std::memset(data, 0, kLarge);
  buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  for (size_t i = 0; i < kLarge / 8; ++i) ASSERT_EQ(data[i], 0x123456789 + i);
}

TEST(Buffer, AMissingSyncIsNoticed) {
  TrialCard card;
  uint32_t* data = card.out.map<uint32_t*>();
  data[0] = 77;
  ASSERT_EQ(card.run(kWrite, 5), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(data[0], 77u) << "the kernel's write is on the card only";
  card.fetch();
  EXPECT_EQ(data[0], 5u);
}

TEST(Buffer, PartsSyncAlone) {
  TrialCard card;
  auto* data = card.out.map<uint32_t*>();
  std::iota(data, data + 1024, 0u);
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  std::fill(data, data + 1024, 9u);
  card.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE, 400, 800);
  for (uint32_t i = 0; i < 1024; ++i) {
    ASSERT_EQ(data[i], i >= 200 && i < 300 ? i : 9u) << i;
  }
  EXPECT_THROW(card.out.sync(XCL_BO_SYNC_BO_FROM_DEVICE, 4096, 4), std::exception);
}

TEST(Buffer, CopiesOnTheCard) {
  TrialCard card;
  xrt::bo from(card.device, 4096, card.kernel.group_id(2));
  xrt::bo to(card.device, 4096, card.kernel.group_id(2));
  auto* data = from.map<uint32_t*>();
  std::iota(data, data + 1024, 100u);
  from.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  to.copy(from, 1024, 512, 2048);
  to.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  EXPECT_EQ(to.map<uint32_t*>()[512], 100u + 128);
  EXPECT_EQ(to.map<uint32_t*>()[512 + 255], 100u + 128 + 255);
}

TEST(Buffer, SubBuffersAreWindows) {
  TrialCard card;
  xrt::bo parent(card.device, 8192, card.kernel.group_id(2));
  xrt::bo window(parent, 4096, 4096);
  auto run = card.kernel(static_cast<uint32_t>(kWrite), 31u, window);
  ASSERT_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  parent.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  EXPECT_EQ(parent.map<uint32_t*>()[1024], 31u);
}

TEST(Buffer, HostMappedOnesNeedNoSync) {
  TrialCard card;
  xrt::bo mapped(card.device, 4096, xrt::bo::flags::host_only, card.kernel.group_id(2));
  auto run = card.kernel(static_cast<uint32_t>(kWrite), 32u, mapped);
  ASSERT_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(mapped.map<uint32_t*>()[0], 32u);
}

TEST(Buffer, UserMemoryIsItsHostCopy) {
  TrialCard card;
  void* memory = nullptr;
  ASSERT_EQ(posix_memalign(&memory, static_cast<size_t>(getpagesize()), 4096), 0);
  {
    xrt::bo buffer(card.device, memory, 4096, card.kernel.group_id(2));
    auto run = card.kernel(static_cast<uint32_t>(kWrite), 33u, buffer);
    ASSERT_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
    buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    EXPECT_EQ(*static_cast<uint32_t*>(memory), 33u);
  }
  free(memory);
}

TEST(Buffer, AddressLiesInItsBank) {
  if (const char* mode = std::getenv("XCL_EMULATION_MODE");
      mode != nullptr && std::string(mode) == "sw_emu") {
    GTEST_SKIP() << "software emulation has no banks";
  }
  TrialCard card;
  constexpr uint64_t kBank = uint64_t{512} << 20;
  EXPECT_EQ(card.kernel.group_id(2), 3);
  EXPECT_EQ(card.out.address() / kBank, 3u);
  // A buffer of the range HBM[4:7] may be larger than one bank.
  xrt::kernel types(card.device, card.uuid, "types");
  xrt::bo wide(card.device, 3 * kBank, xrt::bo::flags::device_only, types.group_id(7));
  EXPECT_GE(wide.address(), 4 * kBank);
  EXPECT_LE(wide.address() + 3 * kBank, 8 * kBank);
}

TEST(Buffer, AFullBankRefuses) {
  if (const char* mode = std::getenv("XCL_EMULATION_MODE");
      mode != nullptr && std::string(mode) == "sw_emu") {
    GTEST_SKIP() << "software emulation has no banks";
  }
  TrialCard card;
  constexpr size_t kBank = size_t{512} << 20;
  const auto flags = xrt::bo::flags::device_only;
  EXPECT_THROW(xrt::bo(card.device, kBank, flags, card.kernel.group_id(2)), std::exception);
  { xrt::bo rest(card.device, kBank - 8192, flags, card.kernel.group_id(2)); }
  xrt::bo again(card.device, kBank - 8192, flags, card.kernel.group_id(2));
}

TEST(Buffer, ExportedOnesAreTheSameMemory) {
  TrialCard card;
  xrt::bo imported(card.device, card.out.export_buffer());
  EXPECT_EQ(imported.address(), card.out.address());
  ASSERT_EQ(card.run(kWrite, 64), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(imported.map<uint32_t*>()[0], 64u);
}

TEST(Buffer, CopiesBetweenCards) {
  TrialCard first(0);
  TrialCard second(1);
  ASSERT_EQ(first.run(kWrite, 65), ERT_CMD_STATE_COMPLETED);
  second.out.copy(first.out, 4096, 0, 0);
  EXPECT_EQ(second.fetch()[0], 65u);
}

TEST(Buffer, OutlivesItsExporter) {
  TrialCard card;
  auto exporter = std::make_unique<xrt::bo>(card.device, 4096, card.kernel.group_id(2));
  auto* data = exporter->map<uint32_t*>();
  data[0] = 66;
  exporter->sync(XCL_BO_SYNC_BO_TO_DEVICE);
  xrt::bo imported(card.device, exporter->export_buffer());
  exporter.reset();
  EXPECT_EQ(imported.map<uint32_t*>()[0], 66u);
}

}  // namespace
}  // namespace tandem::emulation_test
