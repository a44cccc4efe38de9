// SPDX-License-Identifier: Apache-2.0
//
// The program's side of card/units/register_file.h.
#include "emulation/xrt_shim/card/registers.h"

#include <cerrno>
#include <thread>

#include "emulation/protocol/futex.h"
#include "emulation/protocol/packet_state.h"
#include "emulation/xrt_shim/report.h"

namespace tandem::emulation {
namespace {

constexpr std::chrono::seconds kMailboxPatience{30};
constexpr std::chrono::microseconds kMailboxPause{20};

bool valid(const Card& card, uint32_t unit, uint32_t offset) {
  const auto program = card.program();
  return program != nullptr && unit < program->units.size() && offset % 4 == 0 &&
         offset / 4 < kRegisterWords;
}

bool is_mailbox_control(const UnitChannel& channel, uint32_t offset) {
  return channel.first_argument.load() >= kMailboxArgumentOffset &&
         (offset == kMailboxInputOffset || offset == kMailboxOutputOffset);
}

bool has_work(const UnitChannel& channel) {
  return channel.finished.load() != channel.submitted.load();
}

// Waits until the unit has made a whole call after the program's request for outputs, or has no
// command.
bool wait_for_call(const Card& card, const UnitChannel& channel) {
  const auto deadline = Clock::now() + kMailboxPatience;
  const uint32_t begun = channel.calls_awaited.load();
  while (has_work(channel) && !card.failed() &&
         static_cast<int32_t>(channel.calls_finished.load() - begun) <= 0) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(kMailboxPause);
  }
  return true;
}

void release_inputs(UnitChannel& channel) {
  MailboxLock lock(channel.mailbox);
  for (uint32_t word = 0; word < kMailboxWords; ++word) {
    channel.mailbox.inputs[word] = channel.registers[word].load();
  }
  channel.mailbox.has_inputs = 1;
}

int take_outputs(const Card& card, UnitChannel& channel) {
  if (!wait_for_call(card, channel)) {
    report_error("a kernel's mailbox was not served for 30 s: its call does not end");
    return -ETIMEDOUT;
  }
  MailboxLock lock(channel.mailbox);
  for (uint32_t word = 0; word < kMailboxWords; ++word) {
    if ((channel.mailbox.output_words >> word & 1) != 0) {
      channel.registers[word].store(channel.mailbox.outputs[word]);
    }
  }
  return 0;
}

// Setting bit 0 gives this side to the kernel; clearing it returns the side to the program.
int write_mailbox_control(const Card& card, UnitChannel& channel, uint32_t offset, uint32_t value) {
  const uint32_t before = channel.registers[offset / 4].exchange(value & kMailboxReleased);
  const bool released = (value & kMailboxReleased) != 0;
  if (offset == kMailboxInputOffset) {
    if (released) release_inputs(channel);
  } else if (released) {
    channel.calls_awaited.store(channel.calls_begun.load());
  } else if (before != 0) {
    return take_outputs(card, channel);
  }
  return 0;
}

int write_control(Card& card, uint32_t unit, uint32_t value) {
  std::atomic<uint32_t>& control = card.shared().units[unit].registers[0];
  if ((value & kRegisterStart) != 0) return -card.start_from_registers(unit, value);
  if ((value & kRegisterAutoRestart) == 0) control.fetch_and(~kRegisterAutoRestart);
  return 0;
}

}  // namespace

int read_register(Card& card, uint32_t unit, uint32_t offset, uint32_t* value) {
  if (!valid(card, unit, offset)) return -EINVAL;
  if (BufferChecks* const checks = card.buffer_checks()) checks->register_read(unit);
  UnitChannel& channel = card.shared().units[unit];
  std::atomic<uint32_t>& word = channel.registers[offset / 4];
  *value = offset == 0 ? word.fetch_and(~kRegisterDone) : word.load();
  return 0;
}

int write_register(Card& card, uint32_t unit, uint32_t offset, uint32_t value) {
  if (!valid(card, unit, offset)) return -EINVAL;
  UnitChannel& channel = card.shared().units[unit];
  if (offset == 0) return write_control(card, unit, value);
  if (is_mailbox_control(channel, offset)) {
    return write_mailbox_control(card, channel, offset, value);
  }
  if (offset == kInterruptStatusOffset) {
    channel.registers[offset / 4].fetch_and(~value);
  } else {
    channel.registers[offset / 4].store(value);
  }
  return 0;
}

}  // namespace tandem::emulation
