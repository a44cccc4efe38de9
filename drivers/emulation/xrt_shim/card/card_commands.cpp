// SPDX-License-Identifier: Apache-2.0
//
// A card's commands: into a ring, out by completion, abort or failure; and the wait for any
// completion.
#include <ert.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <set>

#include "emulation/protocol/futex.h"
#include "emulation/protocol/packet_state.h"
#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/faults/card_faults.h"

namespace tandem::emulation {
namespace {

// A full ring is waited for while its unit ends commands; without an end for kRoomLimit it is busy.
constexpr std::chrono::seconds kRoomLimit{10};
constexpr std::chrono::milliseconds kRoomPoll{10};

// A unit shows `done` in its control register a little before its command ends, and a program may
// start it again between the two.
constexpr std::chrono::seconds kEndAfterDone{10};
// How long the end of a program waits for its commands.
constexpr std::chrono::seconds kLastWait{5};

constexpr uint32_t kRegisterPacketWords =
    kAllocationGranule / 4 - 2;  // one page with header and mask

// The completion count that the calling thread was last told of, per card. Each thread has its own
// count, so a completion that one thread takes is not lost for another. The oldest cards drop out.
uint32_t& seen_completions(uint64_t card_identity) {
  constexpr size_t kMostCards = 64;
  thread_local std::vector<std::pair<uint64_t, uint32_t>> seen;
  for (auto& [identity, count] : seen) {
    if (identity == card_identity) return count;
  }
  // If a dropped card is still in use, its next wait returns once too early.
  if (seen.size() == kMostCards) seen.erase(seen.begin());
  return seen.emplace_back(card_identity, 0).second;
}

bool sleep_until_changed(ClientState& state, uint32_t seen, std::chrono::milliseconds timeout) {
  const bool bounded = timeout >= std::chrono::milliseconds::zero();
  const auto deadline = Clock::now() + timeout;
  bool changed = false;
  state.waiters.fetch_add(1);
  for (;;) {
    changed = state.completions.load() != seen;
    const auto rest = bounded ? deadline - Clock::now() : std::chrono::nanoseconds(-1);
    if (changed || (bounded && rest <= std::chrono::nanoseconds::zero())) break;
    futex_wait(state.completions, seen, rest);
  }
  state.waiters.fetch_sub(1);
  return changed;
}

}  // namespace

int Card::submit(const std::vector<uint32_t>& units, uint64_t packet_offset, uint32_t packet_bytes,
                 bool by_registers) {
  // Functions of atexit run in reverse order. XRT registers the end of its threads, which waits for
  // commands, before it gives the first one to the shim; so this runs before that.
  [[maybe_unused]] static const int registered = std::atexit([] {
    const auto deadline = Clock::now() + kLastWait;
    for (const std::shared_ptr<Card>& card : all_open()) card->abort_unfinished(deadline);
  });
  uint32_t chosen = units.front();
  for (uint32_t unit : units) {
    if (queued(shared().units[unit]) < queued(shared().units[chosen])) chosen = unit;
  }
  if (!owned_here())
    return ENODEV;  // before the lock, which a forked child may have inherited locked
  const LaunchFaults faults = at_launch(*this, chosen, by_registers);
  if (faults.error != 0) return faults.error;
  Ring& ring = client_.state().rings[chosen];
  uint32_t finished = ring.finished.load();
  auto progress_at = std::chrono::steady_clock::now();
  for (;;) {
    std::unique_lock lock(ring_mutexes_[chosen]);
    const bool replaced = shared().generation.load(std::memory_order_relaxed) != generation_.load();
    if (failed() && was_reset_.load()) return EDEADLK;
    if (failed() || replaced) {
      lock.unlock();
      complete(packet_offset, ERT_CMD_STATE_ERROR);
      return 0;
    }
    if (has_room(ring)) {
      const uint64_t order = order_of(units, chosen, packet_offset, ring.submitted.load());
      push_command(ring, shared().units[chosen], slot_,
                   {packet_offset, packet_bytes, faults.command, order});
      return 0;
    }
    lock.unlock();
    const auto now = std::chrono::steady_clock::now();
    if (finished != ring.finished.load()) {
      finished = ring.finished.load();
      progress_at = now;
    } else if (now - progress_at >= kRoomLimit) {
      return EBUSY;
    }
    const uint32_t seen = client_.state().completions.load();
    sleep_until_changed(client_.state(), seen, kRoomPoll);
  }
}

// `index`: of the command in the ring of `unit`.
uint64_t Card::order_of(const std::vector<uint32_t>& units, uint32_t unit, uint64_t packet_offset,
                        uint32_t index) {
  if (!buffer_checks_) return 0;
  return buffer_checks_->order_of({0, unit, index, packet_offset}, units.size() > 1);
}

// Whether the last command that registers started has ended. Waits for the end if the unit is idle.
bool Card::has_ended(uint32_t unit, uint64_t packet_offset) {
  const std::atomic<uint32_t>& control = shared().units[unit].registers[0];
  ClientState& state = client_.state();
  const auto deadline = Clock::now() + kEndAfterDone;
  for (;;) {
    const uint32_t seen = state.completions.load();
    if (packet_state(packet_offset) >= ERT_CMD_STATE_COMPLETED) return true;
    if ((control.load() & kRegisterStart) != 0 || Clock::now() >= deadline) return false;
    sleep_until_changed(state, seen, kRoomPoll);
  }
}

int Card::start_from_registers(uint32_t unit, uint32_t control) {
  std::lock_guard lock(register_mutex_);
  const auto [known, is_new] = register_packets_.try_emplace(unit, 0);
  if (is_new) {
    const auto offset = packet_memory_.allocate(kAllocationGranule);
    if (!offset) {
      register_packets_.erase(known);
      return ENOMEM;
    }
    known->second = *offset;
  }
  uint32_t* header = client_.packet_header(known->second);
  if (!is_new && !has_ended(unit, known->second)) return EBUSY;
  auto* command = reinterpret_cast<ert_start_kernel_cmd*>(header);
  command->header = 0;
  command->state = ERT_CMD_STATE_NEW;
  command->opcode = ERT_START_CU;
  command->type = ERT_CU;
  command->count = 1 + kRegisterPacketWords;
  UnitChannel& channel = shared().units[unit];
  for (uint32_t word = 0; word < kRegisterPacketWords; ++word) {
    command->data[word] = channel.registers[word].load();
  }
  command->data[0] = control;
  const uint32_t before = channel.registers[0].exchange(control);
  const int code = submit({unit}, known->second, kAllocationGranule, true);
  if (code != 0) {  // not queued: no unit will end the packet, so it must not stay pending
    uint32_t expected = control;
    channel.registers[0].compare_exchange_strong(expected, before);
    set_packet_state(header, ERT_CMD_STATE_ERROR);
  }
  return code;
}

// Calls `visit(unit, entry)` for each command that is queued or running, until it returns false.
template <typename Visit>
void Card::visit_unfinished(const Visit& visit) {
  for (uint32_t unit = 0; unit < kMaxUnits; ++unit) {
    Ring& ring = client_.state().rings[unit];
    if (ring.submitted.load() == ring.finished.load()) continue;
    std::lock_guard lock(ring_mutexes_[unit]);
    const uint32_t submitted = ring.submitted.load();
    for (uint32_t next = ring.finished.load(); next != submitted; ++next) {
      RingEntry& entry = ring.entries[next % kRingEntries];
      const EntryState state = entry.state.load();
      if (state != EntryState::kQueued && state != EntryState::kRunning) continue;
      if (!visit(unit, entry)) return;
    }
  }
}

bool Card::abort(uint64_t packet_offset) {
  bool aborted = false;
  visit_unfinished([&](uint32_t unit, RingEntry& entry) {
    if (entry.packet_offset != packet_offset) return true;
    for (EntryState expected : {EntryState::kQueued, EntryState::kRunning}) {
      if (!entry.state.compare_exchange_strong(expected, EntryState::kCancelled)) continue;
      complete(packet_offset, ERT_CMD_STATE_ABORT);
      ring_bell(shared().units[unit]);
      aborted = true;
    }
    return !aborted;
  });
  return aborted;
}

// Without those of units that registers start: nobody waits for their end.
std::vector<uint64_t> Card::unfinished_packets() {
  std::set<uint64_t> by_registers;
  {
    std::lock_guard lock(register_mutex_);
    for (const auto& [unit, packet] : register_packets_) by_registers.insert(packet);
  }
  std::vector<uint64_t> packets;
  visit_unfinished([&](uint32_t, const RingEntry& entry) {
    if (by_registers.count(entry.packet_offset) == 0) packets.push_back(entry.packet_offset);
    return true;
  });
  return packets;
}

void Card::abort_unfinished(std::chrono::steady_clock::time_point deadline) {
  if (!owned_here()) return;
  ClientState& state = client_.state();
  for (;;) {
    const uint32_t seen = state.completions.load();
    const std::vector<uint64_t> packets = unfinished_packets();
    if (packets.empty() || failed()) return;
    if (Clock::now() < deadline) {
      sleep_until_changed(state, seen, kRoomPoll);
      continue;
    }
    for (const uint64_t packet : packets) abort(packet);
    return;
  }
}

uint32_t Card::packet_state(uint64_t packet_offset) const {
  return *client_.packet_header(packet_offset) & 0xF;
}

void Card::complete(uint64_t packet_offset, uint32_t state) {
  set_packet_state(client_.packet_header(packet_offset), state);
  client_.announce();
}

bool Card::wait(std::chrono::milliseconds timeout) {
  ClientState& state = client_.state();
  uint32_t& seen = seen_completions(identity_);
  thread_local AdaptiveSpin spin;
  bool changed = spin.wait(state.completions, seen);
  if (!changed) changed = sleep_until_changed(state, seen, timeout);
  if (changed) seen = state.completions.load();
  return changed;
}

}  // namespace tandem::emulation
