// SPDX-License-Identifier: Apache-2.0
//
// Launching kernels on emulated cards through XRT's native API.
#include <experimental/xrt-next.h>
#include <experimental/xrt_ip.h>
#include <experimental/xrt_xclbin.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "emulated_cards.h"
#include "shim_functions.h"

namespace tandem::emulation_test {
namespace {

TEST(Launch, KernelWritesItsResult) {
  TrialCard card;
  ASSERT_EQ(card.run(kWrite, 42), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(card.fetch()[0], 42u);
}

TEST(Launch, ArgumentsOfEverySizeArrive) {
  TrialCard card;
  xrt::kernel types(card.device, card.uuid, "types");
  xrt::bo out(card.device, 4096, types.group_id(7));
  struct {
    int32_t x = 1, y = 2, z = 3;
  } triple;
  xrt::run run(types);
  run.set_arg(0, char{-5});
  run.set_arg(1, true);
  run.set_arg(2, int16_t{-3000});
  run.set_arg(3, int64_t{-5'000'000'000});
  run.set_arg(4, 1.5f);
  run.set_arg(5, -2.25);
  run.set_arg(6, triple);
  run.set_arg(7, out);
  run.start();
  ASSERT_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const double* values = out.map<double*>();
  const double expected[8] = {-5, 1, -3000, -5e9, 1.5, -2.25, 321, 1};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(values[i], expected[i]) << "argument " << i;
}

TEST(Launch, UnitsHaveStaticVariablesOfTheirOwn) {
  TrialCard first(0, "trial:{trial_1}");
  TrialCard second(0, "trial:{trial_2}");
  for (int launch = 0; launch < 5; ++launch) first.run(kWrite, 0);
  second.run(kWrite, 0);
  EXPECT_EQ(first.fetch()[1], 5u);
  EXPECT_EQ(second.fetch()[1], 1u);
}

TEST(Launch, UnitsRunAtTheSameTime) {
  TrialCard card;
  std::vector<xrt::bo> outs;
  std::vector<xrt::run> runs;
  // Each waits for a flag that is set only once all three run: two units less and this would time
  // out.
  for (int unit = 0; unit < 3; ++unit) {
    outs.emplace_back(card.device, 4096, card.kernel.group_id(2));
    auto* data = outs.back().map<uint32_t*>();
    std::fill(data, data + 3, 0u);
    outs.back().sync(XCL_BO_SYNC_BO_TO_DEVICE);
    runs.push_back(card.kernel(static_cast<uint32_t>(kWaitForFlag), 7u, outs.back()));
  }
  for (auto& run : runs) {
    while (run.state() < ERT_CMD_STATE_RUNNING) std::this_thread::yield();
  }
  for (int unit = 0; unit < 3; ++unit) EXPECT_EQ(runs[unit].state(), ERT_CMD_STATE_RUNNING);
  for (auto& out : outs) {
    out.map<uint32_t*>()[2] = 1;
    out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  for (auto& run : runs) EXPECT_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
}

TEST(Launch, ManyRunsQueueUpAndAllComplete) {
  TrialCard card;
  std::vector<xrt::run> runs;
  for (uint32_t i = 0; i < 500; ++i)
    runs.push_back(card.kernel(static_cast<uint32_t>(kWrite), i, card.out));
  for (auto& run : runs) ASSERT_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
}

TEST(Launch, ThreadsWaitForTheirOwnRuns) {
  TrialCard card;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      xrt::bo out(card.device, 4096, card.kernel.group_id(2));
      xrt::run run(card.kernel);
      for (uint32_t i = 0; i < 500; ++i) {
        run.set_arg(0, static_cast<uint32_t>(kWrite));
        run.set_arg(1, thread * 1000 + i);
        run.set_arg(2, out);
        run.start();
        if (run.wait() != ERT_CMD_STATE_COMPLETED) ++failures;
        out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
        if (out.map<uint32_t*>()[0] != thread * 1000 + i) ++failures;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0);
}

TEST(Launch, CallbacksHearOfCompletion) {
  TrialCard().expect_callback(kWrite, ERT_CMD_STATE_COMPLETED);
}

TEST(Launch, RegistersStartAUnit) {
  TrialCard card;
  xrt::ip unit(card.device, card.uuid, "types:{typed}");
  xrt::bo out(card.device, 4096, 4);
  const uint64_t address = out.address();
  const auto kernels = xrt::xclbin(trial_xclbin()).get_kernels();
  const auto types = std::find_if(kernels.begin(), kernels.end(),
                                  [](const auto& kernel) { return kernel.get_name() == "types"; });
  ASSERT_NE(types, kernels.end());
  const auto offset = static_cast<uint32_t>(types->get_args().at(7).get_offset());
  unit.write_register(0x10, 9);
  unit.write_register(offset, static_cast<uint32_t>(address));
  unit.write_register(offset + 4, static_cast<uint32_t>(address >> 32));
  EXPECT_NE(unit.read_register(0) & 4u, 0u) << "idle before the start";
  unit.write_register(0, 1);
  while ((unit.read_register(0) & 2u) == 0) std::this_thread::yield();
  EXPECT_EQ(unit.read_register(0) & 2u, 0u) << "done is cleared by reading";
  out.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  EXPECT_EQ(out.map<double*>()[0], 9.0);
  EXPECT_EQ(out.map<double*>()[7], 1.0);
}

TEST(Launch, AUnitStartedByRegistersWhileItsRingIsFullCanBeStartedLater) {
  constexpr uint32_t kRingEntries = 1024;
  TrialCard card(0, "trial:{trial_1}");
  const auto write = [&](uint32_t offset, uint32_t value) {
    const auto handle = static_cast<xclDeviceHandle>(card.device);
    const int unit = TANDEM_SHIM(xclIPName2Index)(handle, "trial:trial_1");
    return TANDEM_SHIM(xclRegWrite)(handle, static_cast<uint32_t>(unit), offset, value);
  };
  card.out.map<uint32_t*>()[2] = 0;
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  std::vector<xrt::run> runs;
  runs.push_back(card.kernel(static_cast<uint32_t>(kWaitForFlag), 1u, card.out));
  for (uint32_t i = 1; i < kRingEntries; ++i) {
    runs.push_back(card.kernel(static_cast<uint32_t>(kWrite), i, card.out));
  }
  // Every command of the ring brings arguments of its own into the registers.
  const auto start = [&] {
    EXPECT_EQ(write(0x10, kWrite), 0);
    EXPECT_EQ(write(0x18, 77), 0);
    EXPECT_EQ(write(0x20, static_cast<uint32_t>(card.out.address())), 0);
    EXPECT_EQ(write(0x24, static_cast<uint32_t>(card.out.address() >> 32)), 0);
    return write(0, 1);
  };
  EXPECT_EQ(start(), -EBUSY);
  card.out.map<uint32_t*>()[2] = 1;
  card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  for (auto& run : runs) ASSERT_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
  ASSERT_EQ(start(), 0);
  while (card.fetch()[0] != 77) std::this_thread::yield();
}

TEST(Launch, CardsAreIndependent) {
  TrialCard first(0);
  TrialCard second(1);
  ASSERT_EQ(first.run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
  ASSERT_EQ(second.run(kWrite, 2), ERT_CMD_STATE_COMPLETED);
  EXPECT_EQ(first.fetch()[0], 1u);
  EXPECT_EQ(second.fetch()[0], 2u);
  EXPECT_EQ(first.out.address(), second.out.address()) << "each has an address space of its own";
}

TEST(Launch, ACardOpenedByAThreadThatEndedStaysUp) {
  std::unique_ptr<TrialCard> card;
  std::thread([&] { card = std::make_unique<TrialCard>(); }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(card->run(kWrite, 1), ERT_CMD_STATE_COMPLETED);
}

TEST(Launch, StatisticsTellWhatACardDid) {
  const std::string path = testing::TempDir() + "tandem-statistics-" + std::to_string(getpid());
  setenv("TANDEM_CARD_STATISTICS", path.c_str(), 1);
  {
    TrialCard card(0, "trial:{trial_2}");
    for (int launch = 0; launch < 3; ++launch) card.run(kWrite, 1);
    card.out.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    card.fetch();
    card.fetch();
  }
  std::ifstream in(path);
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_THAT(line, testing::HasSubstr("\"bytes_to_device\": 4096, \"bytes_from_device\": 8192"));
  EXPECT_THAT(line, testing::HasSubstr("\"unit\": \"trial_1\", \"launches\": 0"));
  EXPECT_THAT(line, testing::HasSubstr("\"unit\": \"trial_2\", \"launches\": 3"));
  unlink(path.c_str());
}

TEST(Launch, ACardThatDoesNotExistCannotBeOpened) { EXPECT_THROW(xrt::device(2u), std::exception); }

TEST(Launch, AnotherBitstreamReplacesTheLoadedOne) {
  xrt::device device(0u);
  const auto first = device.load_xclbin(trial_xclbin());
  { xrt::kernel kernel(device, first, "trial"); }
  const auto second = device.load_xclbin(TANDEM_TEST_XCLBIN_DIR "/idle_vadd.xclbin");
  xrt::kernel kernel(device, second, "vadd");
  xrt::bo buffer(device, 4096, kernel.group_id(0));
  auto run = kernel(buffer, buffer, buffer, 1u);
  EXPECT_EQ(run.wait(), ERT_CMD_STATE_COMPLETED);
}

TEST(Launch, ABitstreamInUseIsNotReplaced) {
  TrialCard card;
  xrt::device again(0u);
  EXPECT_THROW(again.load_xclbin(std::string(TANDEM_TEST_XCLBIN_DIR "/idle_vadd.xclbin")),
               std::exception);
  EXPECT_EQ(card.run(kWrite, 3), ERT_CMD_STATE_COMPLETED);
}

}  // namespace
}  // namespace tandem::emulation_test
