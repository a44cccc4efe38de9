// SPDX-License-Identifier: Apache-2.0
//
// The registers of a compute unit: what a command loads, which outputs go back to programs, how
// often a command repeats, and what the control words say meanwhile.
#include "emulation/card/units/register_file.h"

#include <ert.h>
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <vector>

namespace tandem::emulation {
namespace {

constexpr uint32_t kArgument = 0x20;   // of a kernel with counter and mailbox
constexpr uint32_t kFileBytes = 0x30;  // four arguments
constexpr uint32_t kForEver = ~uint32_t{0};

using Words = std::vector<uint32_t>;

// A packet of `opcode` with one mask of compute units.
Words packet(uint32_t opcode, const Words& payload) {
  Words words = {0, 1};
  words.insert(words.end(), payload.begin(), payload.end());
  ert_start_kernel_cmd header{};
  header.opcode = opcode;
  header.count = static_cast<uint32_t>(words.size() - 1);
  std::memcpy(words.data(), &header, sizeof(uint32_t));
  return words;
}

class RegisterFileTest : public testing::Test {
 protected:
  bool load(RegisterFile& file, uint32_t opcode, const Words& payload) {
    words_ = packet(opcode, payload);
    return file.load(words_.data(), words_.size() * 4);
  }
  // The register map of a start command: control words, counter, and the arguments at 0x20.
  static Words map(uint32_t control, uint32_t counter, const Words& arguments) {
    Words payload = {control, 0, 0, 0, counter, 0, 0, 0};
    payload.insert(payload.end(), arguments.begin(), arguments.end());
    return payload;
  }
  static void set(RegisterFile& file, uint32_t word, uint32_t value) {
    std::memcpy(file.data() + 4 * size_t{word}, &value, sizeof(value));
  }
  static uint32_t get(RegisterFile& file, uint32_t word) {
    uint32_t value;
    std::memcpy(&value, file.data() + 4 * size_t{word}, sizeof(value));
    return value;
  }
  uint32_t shared(uint32_t word) const { return channel_->registers[word].load(); }
  // Calls of the kernel until the command is over, at most `limit`.
  uint32_t calls(RegisterFile& file, uint32_t limit = 100) {
    uint32_t count = 0;
    do {
      file.begin();
      file.finish();
      ++count;
    } while (count < limit && file.again());
    file.end();
    return count;
  }
  void release(const Words& arguments) {
    for (size_t index = 0; index < arguments.size(); ++index) {
      channel_->mailbox.inputs[kArgument / 4 + index] = arguments[index];
    }
    channel_->mailbox.has_inputs = 1;
  }
  bool has_output(uint32_t word) const { return (channel_->mailbox.output_words >> word & 1) != 0; }

  std::unique_ptr<UnitChannel> channel_ = std::make_unique<UnitChannel>();
  Words words_;
};

TEST_F(RegisterFileTest, ACommandBringsArgumentsThatProgramsSee) {
  RegisterFile file(*channel_, 0x20, 0x10);
  ASSERT_TRUE(load(file, ERT_START_CU, {0, 0, 0, 0, 11, 12, 13, 14}));
  for (uint32_t word = 4; word < 8; ++word) {
    EXPECT_EQ(get(file, word), word + 7);
    EXPECT_EQ(shared(word), word + 7);
  }
}

TEST_F(RegisterFileTest, ACommandLeavesNothingOfTheOneBefore) {
  RegisterFile file(*channel_, 0x20, 0x10);
  ASSERT_TRUE(load(file, ERT_START_CU, {0, 0, 0, 0, 11, 12, 13, 14}));
  ASSERT_TRUE(load(file, ERT_START_CU, {0, 0, 0, 0, 21}));
  EXPECT_EQ(get(file, 4), 21u);
  EXPECT_EQ(get(file, 7), 0u);
  EXPECT_EQ(shared(7), 0u);
}

TEST_F(RegisterFileTest, OnlyWhatTheCallChangedGoesBack) {
  RegisterFile file(*channel_, 0x20, 0x10);
  ASSERT_TRUE(load(file, ERT_START_CU, {0, 0, 0, 0, 11, 12, 13, 14}));
  file.begin();
  channel_->registers[4].store(99);  // a program writes the next call's argument
  set(file, 5, 50);
  file.finish();
  EXPECT_EQ(shared(4), 99u);
  EXPECT_EQ(shared(5), 50u);
  EXPECT_EQ(shared(6), 13u);
}

TEST_F(RegisterFileTest, MalformedPacketsAreRefused) {
  RegisterFile file(*channel_, 0x20, 0x10);
  const Words whole = packet(ERT_START_CU, {0, 0, 0, 0, 11});
  EXPECT_TRUE(file.load(whole.data(), whole.size() * 4));
  EXPECT_FALSE(file.load(whole.data(), whole.size() * 4 - 1));
  EXPECT_FALSE(file.load(whole.data(), sizeof(ert_start_kernel_cmd) - 1));
  Words no_masks = packet(ERT_START_CU, {});
  ert_start_kernel_cmd header{};
  header.opcode = ERT_START_CU;
  header.count = 0;
  std::memcpy(no_masks.data(), &header, sizeof(uint32_t));
  no_masks.resize(16);
  EXPECT_FALSE(file.load(no_masks.data(), no_masks.size() * 4));
}

TEST_F(RegisterFileTest, PairsChangeWhatTheyName) {
  RegisterFile file(*channel_, 0x20, 0x10);
  channel_->registers[5].store(55);
  ASSERT_TRUE(load(file, ERT_START_KEY_VAL, {0x10, 44, 0x18, 66}));
  EXPECT_EQ(get(file, 4), 44u);
  EXPECT_EQ(get(file, 5), 55u);
  EXPECT_EQ(get(file, 6), 66u);
  EXPECT_EQ(shared(4), 44u);
  ASSERT_TRUE(load(file, ERT_EXEC_WRITE, {1, 1, 1, 1, 1, 1, 0x1c, 77}));
  EXPECT_EQ(shared(7), 77u);
  EXPECT_EQ(shared(4), 44u);
}

TEST_F(RegisterFileTest, PairsOutsideTheRegistersAreRefused) {
  RegisterFile file(*channel_, 0x20, 0x10);
  EXPECT_FALSE(load(file, ERT_START_KEY_VAL, {0x11, 1}));
  EXPECT_FALSE(load(file, ERT_START_KEY_VAL, {kRegisterWords * 4, 1}));
  EXPECT_TRUE(load(file, ERT_START_KEY_VAL, {kRegisterWords * 4 - 4, 1}));
}

TEST_F(RegisterFileTest, ACommandWithACounterRepeatsAsOftenAsItSays) {
  RegisterFile file(*channel_, kFileBytes, kArgument);
  for (const uint32_t count : {1u, 2u, 5u}) {
    ASSERT_TRUE(load(file, ERT_START_CU, map(0, count, {1, 2, 3, 4})));
    EXPECT_EQ(calls(file), count);
  }
  ASSERT_TRUE(load(file, ERT_START_CU, map(0, 0, {1, 2, 3, 4})));
  EXPECT_EQ(calls(file), 1u);
  ASSERT_TRUE(load(file, ERT_START_CU, map(0, kForEver, {1, 2, 3, 4})));
  EXPECT_EQ(calls(file, 50), 50u);
}

TEST_F(RegisterFileTest, AClearedCounterInThePacketStopsTheRepetitions) {
  RegisterFile file(*channel_, kFileBytes, kArgument);
  ASSERT_TRUE(load(file, ERT_START_CU, map(0, kForEver, {1, 2, 3, 4})));
  for (int call = 0; call < 3; ++call) {
    file.begin();
    file.finish();
    EXPECT_TRUE(file.again());
  }
  words_[2 + 4] = 0;
  EXPECT_FALSE(file.again());
}

TEST_F(RegisterFileTest, AMailboxRepeatsAsOftenAsItsRegisterSays) {
  RegisterFile file(*channel_, kFileBytes, kArgument);
  for (const uint32_t count : {1u, 2u, 5u}) {
    ASSERT_TRUE(load(file, ERT_START_CU, {0, 0, 0, 0}));
    channel_->registers[kCounterOffset / 4].store(count);
    EXPECT_EQ(calls(file), count);
    EXPECT_EQ(shared(kCounterOffset / 4), 0u);
  }
  ASSERT_TRUE(load(file, ERT_START_CU, {0, 0, 0, 0}));
  EXPECT_EQ(calls(file), 1u);
  channel_->registers[kCounterOffset / 4].store(kForEver);
  ASSERT_TRUE(load(file, ERT_START_CU, {0, 0, 0, 0}));
  EXPECT_EQ(calls(file, 50), 50u);
  EXPECT_EQ(shared(kCounterOffset / 4), kForEver);
}

TEST_F(RegisterFileTest, AMailboxGivesItsInputsToOneCall) {
  RegisterFile file(*channel_, kFileBytes, kArgument);
  release({7, 8, 9, 10});
  ASSERT_TRUE(load(file, ERT_START_CU, {0, 0, 0, 0}));
  file.begin();
  EXPECT_EQ(get(file, 8), 7u);
  EXPECT_EQ(get(file, 11), 10u);
  EXPECT_EQ(channel_->mailbox.has_inputs, 0u);
  file.finish();
  channel_->mailbox.inputs[8] = 70;  // not released
  file.begin();
  EXPECT_EQ(get(file, 8), 7u);
}

TEST_F(RegisterFileTest, AMailboxKeepsWhatWasNeverAnOutput) {
  RegisterFile file(*channel_, kFileBytes, kArgument);
  release({7, 8, 9, 10});
  ASSERT_TRUE(load(file, ERT_START_CU, {0, 0, 0, 0}));
  file.begin();
  set(file, 10, 15);
  file.finish();
  EXPECT_FALSE(has_output(8));
  EXPECT_FALSE(has_output(9));
  EXPECT_TRUE(has_output(10));
  EXPECT_FALSE(has_output(11));
  EXPECT_EQ(channel_->mailbox.outputs[10], 15u);
}

TEST_F(RegisterFileTest, AnOutputThatEqualsItsInputReplacesTheOutputBefore) {
  RegisterFile file(*channel_, kFileBytes, kArgument);
  release({7, 8, 9, 10});
  ASSERT_TRUE(load(file, ERT_START_CU, {0, 0, 0, 0}));
  file.begin();
  set(file, 10, 15);
  file.finish();
  release({1, 2, 3, 4});
  file.begin();
  set(file, 10, 3);  // what the program's inputs have in its place
  file.finish();
  EXPECT_EQ(channel_->mailbox.outputs[10], 3u);
  EXPECT_FALSE(has_output(8));
}

TEST_F(RegisterFileTest, AFreeRunRepeatsUntilItsBitIsCleared) {
  RegisterFile file(*channel_, 0x20, 0x10);
  channel_->registers[0].store(kRegisterAutoRestart);
  ASSERT_TRUE(load(file, ERT_START_CU, {kRegisterAutoRestart, 0, 0, 0, 11}));
  file.begin();
  EXPECT_EQ(shared(0), kRegisterStart | kRegisterAutoRestart);
  file.finish();
  channel_->registers[4].store(12);
  EXPECT_TRUE(file.again());
  EXPECT_EQ(get(file, 4), 12u);  // what programs wrote meanwhile
  channel_->registers[0].fetch_and(~kRegisterAutoRestart);
  EXPECT_FALSE(file.again());
}

TEST_F(RegisterFileTest, ControlBitsFollowTheCall) {
  RegisterFile file(*channel_, 0x20, 0x10);
  EXPECT_EQ(shared(0), kRegisterIdle);
  ASSERT_TRUE(load(file, ERT_START_CU, {0, 0, 0, 0, 11}));
  file.begin();
  EXPECT_EQ(shared(0), kRegisterStart);
  EXPECT_EQ(channel_->calls_begun.load(), 1u);
  EXPECT_EQ(channel_->calls_finished.load(), 0u);
  file.finish();
  EXPECT_EQ(channel_->calls_finished.load(), 1u);
  EXPECT_FALSE(file.again());
  file.end();
  EXPECT_EQ(shared(0), kRegisterDone | kRegisterIdle | kRegisterReady);
}

TEST_F(RegisterFileTest, AnInterruptNeedsBothEnables) {
  RegisterFile file(*channel_, 0x20, 0x10);
  for (const uint32_t global : {0u, 1u}) {
    for (const uint32_t enable : {0u, 1u, 2u}) {
      channel_->registers[kGlobalInterruptOffset / 4].store(global);
      channel_->registers[kInterruptEnableOffset / 4].store(enable);
      channel_->registers[kInterruptStatusOffset / 4].store(0);
      const uint32_t before = channel_->interrupts.load();
      file.end();
      const uint32_t raised = global == 1 && enable == 1 ? 1 : 0;
      EXPECT_EQ(channel_->interrupts.load() - before, raised) << global << " " << enable;
      EXPECT_EQ(shared(kInterruptStatusOffset / 4), raised);
    }
  }
}

TEST_F(RegisterFileTest, AFreshUnitHasNothingOfTheOneBefore) {
  channel_->registers[9].store(5);
  channel_->calls_begun.store(3);
  channel_->calls_finished.store(2);
  channel_->calls_awaited.store(1);
  release({7, 8, 9, 10});
  channel_->mailbox.output_words = ~uint64_t{0};
  channel_->mailbox.outputs[3] = 4;
  const RegisterFile file(*channel_, kFileBytes, kArgument);
  EXPECT_EQ(shared(9), 0u);
  EXPECT_EQ(channel_->calls_begun.load(), 0u);
  EXPECT_EQ(channel_->calls_finished.load(), 0u);
  EXPECT_EQ(channel_->calls_awaited.load(), 0u);
  EXPECT_EQ(channel_->mailbox.has_inputs, 0u);
  EXPECT_EQ(channel_->mailbox.output_words, 0u);
  EXPECT_EQ(channel_->mailbox.inputs[8], 0u);
  EXPECT_EQ(channel_->mailbox.outputs[3], 0u);
  EXPECT_EQ(channel_->first_argument.load(), kArgument);
}

}  // namespace
}  // namespace tandem::emulation
