// SPDX-License-Identifier: Apache-2.0
//
// Buffers that several processes or cards use: export handles sent over a socket or fetched from a
// process, windows of one card onto another, and the lifetime of memory.
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "emulated_cards.h"
#include "forked_process.h"
#include "shim_functions.h"

namespace tandem::emulation_test {
namespace {

using testing::HasSubstr;

// Has the card's kernel write `value` into `buffer`.
bool kernel_writes(TrialCard& card, uint32_t value, const xrt::bo& buffer) {
  auto run = card.kernel(static_cast<uint32_t>(kWrite), value, buffer);
  return run.wait(std::chrono::milliseconds(40000)) == ERT_CMD_STATE_COMPLETED;
}

// Exports a buffer that holds 41 and waits to find 42 in it, written by another process' kernel.
bool export_and_wait(Line& line) {
  TrialCard card;
  if (card.run(kWrite, 41) != ERT_CMD_STATE_COMPLETED) return false;
  const int handle = card.out.export_buffer();
  line.say(std::to_string(handle) + " " + std::to_string(card.out.address()), {handle});
  line.hear();
  return card.fetch()[0] == 42;
}

void import_and_write(ForkedProcess& exporter, bool same_card) {
  const auto message = exporter.line().hear();
  TrialCard card;
  xrt::bo imported(card.device, message.descriptors.at(0));
  close(message.descriptors[0]);
  EXPECT_EQ(imported.size(), 4096u);
  EXPECT_EQ(imported.map<uint32_t*>()[0], 41u);
  const bool same_address =
      message.text.substr(message.text.find(' ') + 1) == std::to_string(imported.address());
  EXPECT_EQ(same_address, same_card);
  EXPECT_TRUE(kernel_writes(card, 42, imported));
  exporter.line().say("written");
  EXPECT_TRUE(exporter.ended_well());
}

TEST(BufferSharing, BetweenProcessesOnOneCardIsTheSameMemory) {
  use_own_scope();
  ForkedProcess exporter(export_and_wait);
  import_and_write(exporter, true);
}

TEST(BufferSharing, BetweenProcessesWithCardsOfTheirOwnReachesTheOtherCard) {
  ForkedProcess exporter(export_and_wait);
  import_and_write(exporter, false);
}

TEST(BufferSharing, TakesHandlesFromAProcess) {
  ForkedProcess exporter(export_and_wait);
  const auto message = exporter.line().hear();
  close(message.descriptors.at(0));
  TrialCard card;
  xrt::bo imported(card.device, xrt::pid_type{exporter.id()}, std::atoi(message.text.c_str()));
  EXPECT_EQ(imported.map<uint32_t*>()[0], 41u);
  EXPECT_TRUE(kernel_writes(card, 42, imported));
  exporter.line().say("written");
  EXPECT_TRUE(exporter.ended_well());
  EXPECT_THROW(xrt::bo(card.device, xrt::pid_type{getpid()}, 9999), std::exception);
}

TEST(BufferSharing, KernelsReachTheMemoryOfAnotherCard) {
  TrialCard first(0);
  TrialCard second(1);
  xrt::bo window(second.device, first.out.export_buffer());
  EXPECT_GT(window.address(), uint64_t{16} << 30) << "no memory of the second card itself";
  EXPECT_TRUE(kernel_writes(second, 77, window));
  EXPECT_EQ(first.fetch()[0], 77u);
  EXPECT_TRUE(kernel_writes(first, 78, first.out));
  EXPECT_EQ(window.map<uint32_t*>()[0], 78u);
  // A window is exported like any buffer: back to where it comes from, too.
  xrt::bo back(first.device, window.export_buffer());
  EXPECT_TRUE(kernel_writes(first, 79, back));
  EXPECT_EQ(first.fetch()[0], 79u);
}

// Checks keep buffers apart by memory that belongs to none.
TEST(BufferSharing, WithChecksAnImportHasTheSizeOfItsBufferToo) {
  ForkedProcess process([](Line&) {
    setenv("TANDEM_CHECKS", "memory", 1);
    TrialCard first(0), second(1);
    xrt::bo odd(first.device, 5000, first.kernel.group_id(2));
    const xrt::bo again(first.device, odd.export_buffer());
    const xrt::bo window(second.device, odd.export_buffer());
    return again.size() == 5000 && window.size() == 5000;
  });
  EXPECT_TRUE(process.ended_well());
}

TEST(BufferSharing, KeepsTheMemoryOfAProcessThatWasKilled) {
  for (const bool shared : {false, true}) {
    ForkedProcess tester([&](Line&) {
      if (shared) use_own_scope();
      ForkedProcess exporter(export_and_wait);
      const auto message = exporter.line().hear();
      TrialCard card;
      xrt::bo imported(card.device, message.descriptors.at(0));
      close(message.descriptors[0]);
      exporter.kill();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      xrt::bo other(card.device, 4096, card.kernel.group_id(2));
      return kernel_writes(card, 1, other) && imported.map<uint32_t*>()[0] == 41 &&
             kernel_writes(card, 2, imported) && imported.map<uint32_t*>()[0] == 2;
    });
    EXPECT_TRUE(tester.ended_well()) << shared;
  }
}

TEST(BufferSharing, FreesTheMemoryWithItsLastHolder) {
  TrialCard card(0);
  TrialCard other(1);
  const uint64_t before = free_bytes(card.device);
  {
    auto exporter = std::make_unique<xrt::bo>(card.device, 1 << 20, card.kernel.group_id(2));
    xrt::bo same(card.device, exporter->export_buffer());
    auto window = std::make_unique<xrt::bo>(other.device, exporter->export_buffer());
    const int copy = dup(exporter->export_buffer());
    exporter.reset();
    EXPECT_EQ(free_bytes(card.device), before - (1 << 20));
    window->map<uint32_t*>()[0] = 5;
    EXPECT_EQ(same.map<uint32_t*>()[0], 5u);
    window.reset();
    close(copy);
  }
  EXPECT_TRUE(eventually([&] { return free_bytes(card.device) == before; }));
}

TEST(BufferSharing, OutlivesTheImportersOwnKernelsNot) {
  TrialCard first(0);
  TrialCard second(1);
  uint64_t address = 0;
  {
    xrt::bo window(second.device, first.out.export_buffer());
    address = window.address();
  }
  xrt::bo again(second.device, first.out.export_buffer());
  EXPECT_EQ(again.address(), address) << "the window was given back";
}

TEST(BufferSharing, RefusesWhatIsNoExportHandle) {
  TrialCard card;
  testing::internal::CaptureStderr();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_THROW(xrt::bo(card.device, ends[0]), std::exception);
  EXPECT_THROW(xrt::bo(card.device, 9999), std::exception);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("not an export handle"));
  EXPECT_TRUE(kernel_writes(card, 1, card.out));
}

TEST(BufferSharing, RefusesHandlesOfACardThatHasEnded) {
  ForkedProcess exporter(export_and_wait);
  const auto message = exporter.line().hear();
  exporter.kill();
  TrialCard card;
  testing::internal::CaptureStderr();
  EXPECT_THROW(xrt::bo(card.device, message.descriptors.at(0)), std::exception);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("card that exported it has ended"));
}

TEST(BufferSharing, LeavesNoDescriptorsBehind) {
  TrialCard first(0);
  TrialCard second(1);
  const auto open_files = [] {
    size_t count = 0;
    DIR* files = opendir("/proc/self/fd");
    while (readdir(files) != nullptr) ++count;
    closedir(files);
    return count;
  };
  const size_t before = open_files();
  for (int round = 0; round < 50; ++round) {
    xrt::bo source(first.device, 8192, first.kernel.group_id(2));
    second.out.copy(source, 4096, 0, 0);
  }
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace tandem::emulation_test
