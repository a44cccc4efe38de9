// SPDX-License-Identifier: Apache-2.0
//
// The shadow bytes by which a checked kernel's own code skips accesses: of its variables, and of
// device memory.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "emulation/card/checks/device_shadow.h"
#include "emulation/card/checks/local_memory.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kDeviceBytes = 1 << 20;
constexpr uint8_t kReadable = kStateLive | kStateWritten;
constexpr uint8_t kByKernel = kReadable | kStateUnseen;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
bool have_maps() { return false; }  // their maps use the same addresses
#else
bool have_maps() {
  if (!has_local_memory()) map_local_memory();
  return true;
}
#endif

struct CheckedMemory : ::testing::Test {
  void SetUp() override {
    if (!have_maps()) GTEST_SKIP() << "a sanitizer has the addresses";
    states = MemoryStates::create(kDeviceBytes);
    // Not at a multiple of what a page of the shadow stands for.
    memory = std::make_unique<char[]>(kDeviceBytes + 16384);
    device = (reinterpret_cast<uint64_t>(memory.get()) + 8191) / 8192 * 8192 + 4096;
    shadow = std::make_unique<DeviceShadow>(device, kDeviceBytes, states);
  }
  void TearDown() override {
    if (shadow != nullptr) forget(device - 64, device + kDeviceBytes + 64);
  }
  void set(uint64_t address, uint64_t count, uint8_t state) {
    std::memset(states.states() + address, state, count);
  }
  int8_t at(uint64_t address) const { return shadow_of(device + address); }

  MemoryStates states;
  std::unique_ptr<char[]> memory;
  uint64_t device = 0;
  std::unique_ptr<DeviceShadow> shadow;
};

TEST_F(CheckedMemory, AllOfDeviceMemoryIsUnknownAtFirst) {
  for (uint64_t address = 0; address < kDeviceBytes; address += 8) {
    ASSERT_EQ(at(address), kUnknownStates) << address;
  }
  EXPECT_EQ(shadow_of(device - 8), 0);
  EXPECT_EQ(shadow_of(device + kDeviceBytes), 0);
}

// Those of a page of the maps, and none of the next.
TEST_F(CheckedMemory, AFirstUseOfMappedPagesTakesNoPageFaults) {
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
  };
  constexpr uint64_t kBlock = kDeviceBytes / 2;
  const auto use = [&](uint64_t address) {
    const auto before = faults();
    set(address, 4096, kReadable);
    shadow->look_at_block(address);
    shadow->stored(address, 8);
    states.note_unseen(address, 8);
    return faults() - before;
  };
  use(0);  // the code itself
  shadow->map_pages(kBlock, 8192);
  EXPECT_EQ(at(kBlock), kUnknownStates);
  EXPECT_EQ(use(kBlock), 0);
  EXPECT_EQ(use(kBlock + 4096), 0);
  shadow->map_pages(kDeviceBytes - 4096, uint64_t{1} << 40);  // its end is that of the memory
}

TEST_F(CheckedMemory, ABlockIsKnownByItsStates) {
  set(4096, 8, kByKernel);
  set(4104, 8, kReadable);
  set(4112, 8, kByKernel);
  set(4115, 1, kReadable);
  set(4120, 8, kReadable);
  set(4127, 1, kReadable | kStateStale);
  set(4128, 7, kReadable);
  set(4136, 8, kStateLive);
  set(4144, 8, kStateFreed);
  shadow->look_at_block(4200);
  const int8_t wanted[] = {0,
                           kPlainForLoads,
                           kPlainForLoads,
                           kMixedStates,
                           kMixedStates,
                           kMixedStates,
                           kMixedStates,
                           kMixedStates};
  for (int index = 0; index < 8; ++index) EXPECT_EQ(at(4096 + 8 * index), wanted[index]) << index;
  EXPECT_TRUE(shadow->is_known(8191));
  EXPECT_FALSE(shadow->is_known(4095));
  EXPECT_FALSE(shadow->is_known(8192));
}

TEST_F(CheckedMemory, ABlockOfOneStateIsKnownToo) {
  set(0, 4096, kReadable);
  set(4096, 4096, kByKernel);
  set(8192, 4096, kByKernel);
  set(8192 + 4095, 1, kReadable);
  set(12288, 4096, kReadable);
  set(12288 + 4095, 1, kStateLive);
  for (uint64_t block = 0; block < 4; ++block) shadow->look_at_block(4096 * block);
  EXPECT_EQ(at(0), kPlainForLoads);
  EXPECT_EQ(at(4088), kPlainForLoads);
  EXPECT_EQ(at(4096), 0);
  EXPECT_EQ(at(8184), 0);
  EXPECT_EQ(at(8192 + 4088), kPlainForLoads);
  EXPECT_EQ(at(12288), kPlainForLoads);
  EXPECT_EQ(at(12288 + 4088), kMixedStates);
}

TEST_F(CheckedMemory, AStoreCountsOnceAllEightBytesAreStored) {
  set(0, 16, kReadable);
  shadow->look_at_block(0);
  set(0, 4, kByKernel);
  shadow->stored(0, 4);
  EXPECT_EQ(at(0), kPlainForLoads);
  set(4, 8, kByKernel);
  shadow->stored(4, 8);
  EXPECT_EQ(at(0), 0);
  EXPECT_EQ(at(8), kPlainForLoads);
}

TEST_F(CheckedMemory, ANewRunForgetsTheBlocksThatAProgramChanged) {
  set(0, 8192, kByKernel);
  for (const uint64_t block : {0, 4096}) shadow->look_at_block(block);
  EXPECT_EQ(at(0), 0);
  shadow->refresh();
  EXPECT_EQ(at(0), 0) << "nothing changed";
  states.change(4096, 8, 0, kStateUnseen);
  shadow->refresh();
  EXPECT_EQ(at(0), 0);
  EXPECT_EQ(at(4096), kUnknownStates);
  shadow->stored(4096, 8);
  EXPECT_EQ(at(4096), kUnknownStates);
  states.change(4096, 8, kStateFreed, kByKernel);
  shadow->look_at_block(4096);
  EXPECT_EQ(at(4096), kMixedStates);
  EXPECT_EQ(at(4104), 0);
}

TEST_F(CheckedMemory, AClosedShadowKnowsNothingUntilItIsOpenAgain) {
  set(0, 8192, kByKernel);
  shadow->look_at_block(0);
  EXPECT_FALSE(shadow->is_closed());
  shadow->close();
  EXPECT_TRUE(shadow->is_closed());
  EXPECT_EQ(at(0), kUnknownStates);
  EXPECT_EQ(at(4088), kUnknownStates);
  shadow->look_at_block(4096);
  shadow->stored(4096, 8);
  shadow->store_range(0, 8192);
  EXPECT_EQ(at(0), kUnknownStates);
  EXPECT_EQ(at(4096), kUnknownStates);
  shadow->open();
  shadow->look_at_block(4096);
  EXPECT_EQ(at(4096), 0);
  EXPECT_EQ(at(0), kUnknownStates);
}

TEST_F(CheckedMemory, AChangeAfterTheLookIsNotOverlooked) {
  set(0, 4096, kByKernel);
  states.change(0, 8, kByKernel, 0);
  shadow->look_at_block(0);
  states.change(0, 8, 0, kStateUnseen);
  states.change(0, 8, kStateUnseen, 0);
  shadow->refresh();
  EXPECT_EQ(at(0), kUnknownStates);
  shadow->look_at_block(0);
  shadow->refresh();
  EXPECT_EQ(at(0), 0);
}

TEST_F(CheckedMemory, ARangeIsStoredWithItsEnds) {
  set(0, 12288, kReadable);
  for (const uint64_t block : {0, 4096}) shadow->look_at_block(block);
  set(4080, 4, kByKernel);
  shadow->store_range(4084, 8192 - 4084 + 100);
  EXPECT_EQ(at(4072), kPlainForLoads);
  EXPECT_EQ(at(4080), 0) << "both halves are stored now";
  EXPECT_EQ(at(4088), 0);
  EXPECT_EQ(at(8184), 0);
  EXPECT_EQ(at(8192), kUnknownStates) << "nobody looked at this block";
  EXPECT_EQ(states.states()[4083], kByKernel);
  EXPECT_EQ(states.states()[8291], kByKernel);
  EXPECT_EQ(states.states()[8292], kReadable);
  shadow->look_at_block(8192);
  shadow->store_range(8296, 4);
  EXPECT_EQ(at(8296), kPlainForLoads);
  EXPECT_EQ(at(8288), kPlainForLoads);
  EXPECT_TRUE(states.any_unseen(8296, 1));
  shadow->store_range(8308, 12);
  EXPECT_EQ(at(8304), kPlainForLoads) << "its first half was not stored";
  EXPECT_EQ(at(8312), 0);
}

// Whatever another unit's run forgets meanwhile: 0 is only left where all bytes are stored ones.
TEST_F(CheckedMemory, AStoreWhileAnotherRunBeginsLeavesNothingUntrue) {
  for (int round = 0; round < 2000; ++round) {
    states.change(0, 8, kReadable, kStateUnseen);
    shadow->refresh();
    shadow->look_at_block(0);
    std::thread kernel([this] {
      set(0, 8, kByKernel);
      shadow->stored(0, 8);
    });
    states.change(0, 8, 0, kStateUnseen);
    shadow->refresh();
    kernel.join();
    shadow->refresh();
    const bool stored = std::memcmp(states.states(), std::string(8, kByKernel).data(), 8) == 0;
    ASSERT_TRUE(at(0) != 0 || stored) << "round " << round;
  }
}

// What happens at the first write to a page of the shadow.
std::function<void()> at_fault;
void* faulting_page = nullptr;

void handle_fault(int) {
  mprotect(faulting_page, 4096, PROT_READ | PROT_WRITE);
  std::exchange(at_fault, nullptr)();
}

// The same at the one moment that matters: between the look at the states and the mark.
TEST_F(CheckedMemory, AChangeRightBeforeTheMarkOfAStoreIsNotOverwritten) {
  states.change(0, 8, kReadable, kStateUnseen);
  shadow->refresh();
  shadow->look_at_block(0);
  set(0, 8, kByKernel);
  faulting_page =
      reinterpret_cast<void*>(reinterpret_cast<uint64_t>(&shadow_of(device)) & ~4095ull);
  at_fault = [this] {
    states.change(0, 8, 0, kStateUnseen);
    shadow->refresh();
  };
  struct sigaction handler {
  }, before{};
  handler.sa_handler = handle_fault;
  sigaction(SIGSEGV, &handler, &before);
  ASSERT_EQ(mprotect(faulting_page, 4096, PROT_READ), 0);
  shadow->stored(0, 8);
  sigaction(SIGSEGV, &before, nullptr);
  EXPECT_FALSE(at_fault) << "the mark was not written";
  EXPECT_EQ(at(0), kUnknownStates);
}

TEST_F(CheckedMemory, AVariableIsLookedAtUntilAllItsBytesAreWritten) {
  alignas(8) char variable[32] = {};
  const auto address = reinterpret_cast<uint64_t>(variable);
  enter_scope(address, 20);
  EXPECT_TRUE(is_marked_blank(shadow_of(address)));
  EXPECT_EQ(bounds_of(address), 0);
  EXPECT_EQ(bounds_of(address + 16), 4);
  EXPECT_TRUE(may_touch(address + 16, 4));
  EXPECT_FALSE(may_touch(address + 16, 8));
  EXPECT_EQ(accessible_bytes(address + 4, 100), 16u);
  EXPECT_EQ(accessible_bytes(address + 4, 7), 7u);
  EXPECT_EQ(accessible_bytes(address + 20, 1), 0u);
  EXPECT_TRUE(is_blank(address, 16));
  set_written(address, 4);
  EXPECT_LT(shadow_of(address), 0);
  EXPECT_FALSE(is_blank(address, 8));
  set_written(address + 4, 12);
  EXPECT_EQ(shadow_of(address), 0);
  EXPECT_EQ(shadow_of(address + 8), 0);
  set_written(address + 16, 4);
  EXPECT_EQ(shadow_of(address + 16), 4);
  leave_scope(address, 20);
  EXPECT_EQ(shadow_of(address + 16), kOutOfScope);
  EXPECT_EQ(blank_bits_of(address + 16), 0);
  forget(address, address + 32);
}

// The kernel's own code makes the shadow of a frame accessible when the function returns.
TEST_F(CheckedMemory, BlankBitsOfAFrameThatEndedDoNotCount) {
  alignas(8) char frame[16] = {};
  const auto at = reinterpret_cast<uint64_t>(frame);
  enter_scope(at, 16);
  EXPECT_TRUE(is_blank(at + 8, 4));
  shadow_of(at) = shadow_of(at + 8) = 0;
  EXPECT_FALSE(is_blank(at, 4));
  EXPECT_FALSE(is_blank(at + 8, 8));
  forget(at, at + 16);
}

// Else each access to the next variable there would be looked at.
TEST_F(CheckedMemory, ASmallerVariableAtTheSamePlaceIsWrittenOnceItsOwnBytesAre) {
  alignas(8) char frame[16] = {};
  const auto at = reinterpret_cast<uint64_t>(frame);
  for (const uint64_t size_bytes : {4, 12}) {
    enter_scope(at, 16);
    shadow_of(at) = shadow_of(at + 8) = 0;
    enter_scope(at, size_bytes);
    set_written_bytes(at, size_bytes);
    EXPECT_EQ(shadow_of(at + size_bytes - 4), 4);
    forget(at, at + 16);
  }
}

TEST_F(CheckedMemory, ASmallVariableHasItsOwnBounds) {
  alignas(8) char variable[8] = {};
  const auto address = reinterpret_cast<uint64_t>(variable);
  enter_scope(address, 3);
  EXPECT_TRUE(is_marked_blank(shadow_of(address)));
  EXPECT_EQ(bounds_of(address), 3);
  set_written(address, 3);
  EXPECT_EQ(shadow_of(address), 3);
  leave_scope(address, 3);
  EXPECT_EQ(shadow_of(address), kOutOfScope);
  forget(address, address + 8);
}

}  // namespace
}  // namespace tandem::emulation
