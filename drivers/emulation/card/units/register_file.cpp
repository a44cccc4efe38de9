// SPDX-License-Identifier: Apache-2.0
//
// Words shared with programs are atomics; the mailbox has a lock.
#include "emulation/card/units/register_file.h"

#include <ert.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>

#include "emulation/protocol/packet_state.h"

namespace tandem::emulation {
namespace {

constexpr uint32_t kExecWriteReservedWords = 6;
constexpr uint32_t kForEver = ~uint32_t{0};
constexpr uint32_t kControlWords = 4;  // the words before the arguments

uint32_t word_at(const std::vector<unsigned char>& bytes, uint32_t word) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + 4 * size_t{word}, sizeof(value));
  return value;
}

}  // namespace

RegisterFile::RegisterFile(UnitChannel& channel, uint32_t register_bytes, uint32_t first_argument)
    : channel_(channel),
      first_argument_(first_argument),
      values_(std::max<size_t>(register_bytes, kRegisterWords * 4)),
      before_(std::min<size_t>((register_bytes + 3) / 4, kRegisterWords) * 4) {
  for (std::atomic<uint32_t>& word : channel_.registers) word.store(0);
  channel_.registers[0].store(kRegisterIdle);
  for (std::atomic<uint32_t>* calls :
       {&channel_.calls_begun, &channel_.calls_finished, &channel_.calls_awaited}) {
    calls->store(0);
  }
  clear_mailbox();
  channel_.first_argument.store(first_argument);
}

// Removes what programs wrote for the unit of the previous bitstream.
void RegisterFile::clear_mailbox() {
  Mailbox& mailbox = channel_.mailbox;
  MailboxLock lock(mailbox);
  mailbox.has_inputs = 0;
  mailbox.output_words = 0;
  std::fill(std::begin(mailbox.inputs), std::end(mailbox.inputs), 0);
  std::fill(std::begin(mailbox.outputs), std::end(mailbox.outputs), 0);
}

bool RegisterFile::load(const uint32_t* packet, uint64_t packet_bytes) {
  if (packet_bytes < sizeof(ert_start_kernel_cmd)) return false;
  ert_start_kernel_cmd command;
  std::memcpy(&command, packet, sizeof(command));
  const uint32_t num_masks = 1 + command.extra_cu_masks;
  if (command.count < num_masks || (1u + command.count) * 4 > packet_bytes) return false;
  const uint32_t* payload = packet + 1 + num_masks;
  const uint32_t num_payload = command.count - num_masks;
  live_counter_ = nullptr;
  rest_ = 0;
  by_mailbox_ = false;
  free_ = false;
  if (command.opcode != ERT_START_CU) {
    return load_pairs(payload, num_payload,
                      command.opcode == ERT_EXEC_WRITE ? kExecWriteReservedWords : 0);
  }
  std::fill(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(before_.size()), 0);
  std::memcpy(values_.data(), payload, std::min<size_t>(num_payload * size_t{4}, values_.size()));
  free_ = num_payload > 0 && (payload[0] & kRegisterAutoRestart) != 0;
  by_mailbox_ = has_mailbox() && num_payload <= kControlWords;
  if (has_mailbox() && !by_mailbox_) {
    live_counter_ = payload + kCounterOffset / 4;
    rest_ = *live_counter_;
  }
  if (by_mailbox_) return true;
  for (uint32_t word = first_word(); word < num_words(); ++word) {
    channel_.registers[word].store(word_at(values_, word), std::memory_order_relaxed);
  }
  return true;
}

// Pairs of offset and value. Registers that they do not name keep their values.
bool RegisterFile::load_pairs(const uint32_t* payload, uint32_t num_payload, uint32_t first) {
  read_programs_words();
  for (uint32_t word = first; word + 1 < num_payload; word += 2) {
    const uint64_t at = payload[word];
    if (at % 4 != 0 || at + 4 > kRegisterWords * 4) return false;
    std::memcpy(values_.data() + at, &payload[word + 1], 4);
    if (at >= first_argument_) {
      channel_.registers[at / 4].store(payload[word + 1], std::memory_order_relaxed);
    }
  }
  return true;
}

void RegisterFile::read_programs_words() {
  for (uint32_t word = first_word(); word < num_words(); ++word) {
    const uint32_t value = channel_.registers[word].load(std::memory_order_relaxed);
    std::memcpy(values_.data() + 4 * size_t{word}, &value, sizeof(value));
  }
}

void RegisterFile::begin() {
  channel_.registers[0].fetch_and(kRegisterAutoRestart);
  channel_.registers[0].fetch_or(kRegisterStart);
  channel_.calls_begun.fetch_add(1);
  if (by_mailbox_) take_inputs();
  std::memcpy(before_.data(), values_.data(), before_.size());
}

void RegisterFile::finish() {
  if (by_mailbox_) {
    put_outputs();
  } else {
    write_outputs();
  }
  channel_.calls_finished.fetch_add(1);
}

void RegisterFile::take_inputs() {
  MailboxLock lock(channel_.mailbox);
  if (channel_.mailbox.has_inputs == 0) return;
  channel_.mailbox.has_inputs = 0;
  const uint32_t end = std::min(num_words(), kMailboxWords);
  for (uint32_t word = first_word(); word < end; ++word) {
    std::memcpy(values_.data() + 4 * size_t{word}, &channel_.mailbox.inputs[word], 4);
  }
}

void RegisterFile::put_outputs() {
  Mailbox& mailbox = channel_.mailbox;
  MailboxLock lock(mailbox);
  const uint32_t end = std::min(num_words(), kMailboxWords);
  for (uint32_t word = first_word(); word < end; ++word) {
    const uint32_t value = word_at(values_, word);
    const uint64_t bit = uint64_t{1} << word;
    // An output may equal the input in its place; then it still replaces the previous output.
    if (value == word_at(before_, word) && (mailbox.output_words & bit) == 0) continue;
    mailbox.outputs[word] = value;
    mailbox.output_words |= bit;
  }
}

void RegisterFile::write_outputs() {
  for (uint32_t word = first_word(); word < num_words(); ++word) {
    const uint32_t value = word_at(values_, word);
    if (value == word_at(before_, word)) continue;
    channel_.registers[word].store(value, std::memory_order_relaxed);
  }
}

bool RegisterFile::again() {
  if (free_) {
    if ((channel_.registers[0].load() & kRegisterAutoRestart) == 0) return false;
    read_programs_words();
    return true;
  }
  if (!has_mailbox()) return false;
  if (live_counter_ != nullptr) {
    const uint32_t now = __atomic_load_n(live_counter_, __ATOMIC_RELAXED);
    if (now == 0) return false;
    if (rest_ != kForEver) --rest_;
    return rest_ != 0;
  }
  if (!by_mailbox_) return false;
  std::atomic<uint32_t>& counter = channel_.registers[kCounterOffset / 4];
  uint32_t rest = counter.load();
  while (rest != 0 && rest != kForEver && !counter.compare_exchange_weak(rest, rest - 1)) {
  }
  return rest > 1;
}

void RegisterFile::end(bool interrupts) {
  constexpr uint32_t kDoneInterrupt = 1;
  channel_.registers[0].fetch_and(~(kRegisterStart | kRegisterAutoRestart));
  const uint32_t enabled = channel_.registers[kInterruptEnableOffset / 4].load() & kDoneInterrupt;
  if (interrupts && enabled != 0 &&
      (channel_.registers[kGlobalInterruptOffset / 4].load() & 1) != 0) {
    channel_.registers[kInterruptStatusOffset / 4].fetch_or(enabled);
    channel_.interrupts.fetch_add(1);
  }
  channel_.registers[0].fetch_or(kRegisterDone | kRegisterIdle | kRegisterReady);
}

}  // namespace tandem::emulation
