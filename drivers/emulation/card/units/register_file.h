// SPDX-License-Identifier: Apache-2.0
//
// RegisterFile: the registers of a compute unit. The kernel works on a copy during a call; programs
// use the shared words.
//
// Arguments come from the command, or from the registers if the command has none. begin() and
// finish() enclose every call. again() returns whether the unit runs once more: it decrements the
// auto-restart counter, or repeats until the auto-restart bit is cleared. finish() writes back only
// words that the call changed, because a program may write the next call's arguments meanwhile. A
// kernel with its first argument at 0x20 (kernel_entry.h) has a counter at 0x10 and a mailbox
// (protocol/mailbox.h), which holds the arguments if the command has none. Threads: the unit's;
// programs use the shared words only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emulation/protocol/packet_state.h"
#include "emulation/protocol/shared_state.h"

namespace tandem::emulation {

class RegisterFile {
 public:
  // `register_bytes` and `first_argument` (byte offset) come from the kernel's entry. The unit's
  // registers start at zero.
  RegisterFile(UnitChannel& channel, uint32_t register_bytes, uint32_t first_argument);

  // Loads a start command, `packet` [packet_bytes / 4] with its header; false when it is malformed.
  // The packet must stay while the command runs: clearing its counter stops the repetitions.
  bool load(const uint32_t* packet, uint64_t packet_bytes);
  unsigned char* data() { return values_.data(); }

  void begin();
  void finish();
  bool again();
  // Ends the command: the unit becomes idle. `interrupts`: it may raise an interrupt.
  void end(bool interrupts = true);

 private:
  bool has_mailbox() const { return first_argument_ >= kMailboxArgumentOffset; }
  uint32_t first_word() const { return first_argument_ / 4; }
  uint32_t num_words() const { return static_cast<uint32_t>(before_.size() / 4); }
  bool load_pairs(const uint32_t* payload, uint32_t num_words, uint32_t first);
  void clear_mailbox();
  void take_inputs();
  void put_outputs();
  void write_outputs();
  void read_programs_words();

  UnitChannel& channel_;
  const uint32_t first_argument_;
  std::vector<unsigned char> values_;  // [register_bytes, at least a unit's register map]
  std::vector<unsigned char> before_;  // [register_bytes]: values_ before the call
  // the counter in the packet; null if the packet has none
  const uint32_t* live_counter_ = nullptr;
  uint32_t rest_ = 0;  // remaining repetitions of the packet
  bool by_mailbox_ = false;
  bool free_ = false;  // the command set the auto-restart bit
};

}  // namespace tandem::emulation
