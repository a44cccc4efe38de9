// SPDX-License-Identifier: Apache-2.0
//
// A client's bit in `pending` is cleared when its ring is empty, and set again when the ring filled
// meanwhile.
#include "emulation/card/units/command_queue.h"

#include <ert.h>

#include <bit>

#include "emulation/protocol/packet_state.h"

namespace tandem::emulation {
namespace {

constexpr std::chrono::milliseconds kStopCheck{100};
constexpr uint32_t kPendingWords = kMaxClients / 64;

}  // namespace

std::optional<Command> CommandQueue::next(const std::atomic<bool>& stopping) {
  while (!stopping.load()) {
    const uint32_t seen = channel_.submitted.load(std::memory_order_acquire);
    if (auto command = take()) return command;
    // All commands counted so far have ended, or were dropped with their client.
    channel_.finished.store(seen, std::memory_order_release);
    if (spin_.wait(channel_.submitted, seen)) continue;
    channel_.asleep.store(1);
    if (channel_.submitted.load() == seen) futex_wait(channel_.submitted, seen, kStopCheck);
    channel_.asleep.store(0);
  }
  return std::nullopt;
}

std::optional<uint32_t> CommandQueue::next_slot() const {
  const uint32_t first = (last_slot_ + 1) % kMaxClients;
  for (uint32_t step = 0; step <= kPendingWords; ++step) {
    const uint32_t word = (first / 64 + step) % kPendingWords;
    uint64_t bits = channel_.pending[word].load();
    if (step == 0) bits &= ~uint64_t{0} << first % 64;
    if (bits != 0) return word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
  }
  return std::nullopt;
}

std::optional<Command> CommandQueue::take() {
  while (const auto slot = next_slot()) {
    last_slot_ = *slot;
    if (auto command = take_from(*slot)) return command;
  }
  return std::nullopt;
}

// Skips commands that were cancelled while they waited.
std::optional<Command> CommandQueue::take_from(uint32_t slot) {
  Command command;
  command.client = clients_.find(slot);
  std::atomic<uint64_t>& pending = channel_.pending[slot / 64];
  const uint64_t bit = uint64_t{1} << slot % 64;
  if (command.client == nullptr) {
    pending.fetch_and(~bit);
    return std::nullopt;
  }
  command.ring = &command.client->state().rings[unit_];
  for (;;) {
    const uint32_t next = command.ring->finished.load(std::memory_order_relaxed);
    if (command.ring->submitted.load() == next) {
      pending.fetch_and(~bit);
      if (command.ring->submitted.load() == next) return std::nullopt;
      pending.fetch_or(bit);
      continue;
    }
    command.entry = &command.ring->entries[next % kRingEntries];
    running_.store(true);
    EntryState expected = EntryState::kQueued;
    if (command.entry->state.compare_exchange_strong(expected, EntryState::kRunning)) {
      command.packet_offset = command.entry->packet_offset;
      command.packet_bytes = command.entry->packet_bytes;
      command.fault = command.entry->fault;
      command.order = command.entry->order;
      return command;
    }
    leave(command);
  }
}

// An application may abort a run and start it again at once, so its packet may already belong to
// the next command. The ring entry says whether this command is cancelled.
bool CommandQueue::begin(const Command& command) {
  return set_packet_running(command.packet()) && !command.cancelled();
}

void CommandQueue::finish(const Command& command, uint32_t state) {
  EntryState expected = EntryState::kRunning;
  if (command.entry->state.compare_exchange_strong(expected, EntryState::kDone) &&
      command.has_packet()) {
    set_packet_state(command.packet(), state);
  }
  leave(command);
}

void CommandQueue::leave(const Command& command) {
  command.ring->finished.fetch_add(1, std::memory_order_release);
  channel_.finished.fetch_add(1, std::memory_order_release);
  running_.store(false);
  command.client->announce();
}

void CommandQueue::fail_all() {
  while (const auto command = take()) finish(*command, ERT_CMD_STATE_ERROR);
}

bool CommandQueue::busy() const {
  if (running_.load()) return true;
  for (uint32_t slot = 0; slot < kMaxClients; ++slot) {
    if ((channel_.pending[slot / 64].load() >> slot % 64 & 1) == 0) continue;
    const auto client = clients_.find(slot);
    if (client == nullptr) continue;
    const Ring& ring = client->state().rings[unit_];
    if (ring.submitted.load() != ring.finished.load()) return true;
  }
  return false;
}

}  // namespace tandem::emulation
