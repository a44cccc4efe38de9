// SPDX-License-Identifier: Apache-2.0
//
// Tickets of all units as one, and the order of uses of shared memory.
#include "parallel/unit_group.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <numeric>
#include <utility>

#include "parallel/host_peer_copy.h"

namespace tandem::device::parallel {

UnitGroup::UnitGroup(std::vector<std::unique_ptr<ComputeUnit>> units,
                     std::unique_ptr<PeerCopy> peers)
    : units_(std::move(units)), peers_(std::move(peers)) {
  if (units_.empty() || units_.size() > kMaxUnits) {
    throw Error("parallel", "a group has 1 to " + std::to_string(kMaxUnits) + " compute units; " +
                                std::to_string(units_.size()) + " were given");
  }
  for (const auto& unit : units_) borrowed_.push_back(unit.get());
  if (!peers_) peers_ = std::make_unique<HostPeerCopy>(borrowed_);
}

void UnitGroup::require_alive() const {
  if (!lost_.empty()) throw DeviceError("parallel", lost_);
}

void UnitGroup::lose(int index, const std::string& reason) {
  lost_ = (index < 0 ? "a unit" : "unit " + std::to_string(index + 1)) + " of " +
          std::to_string(size()) + " was lost, and the group with it: " + reason;
  throw DeviceError("parallel", lost_);
}

Ticket UnitGroup::record() {
  Recorded recorded{last_ticket_ + 1, enqueued_, {}};
  for (int index = 0; index < size(); ++index) {
    on(index, [&](ComputeUnit& unit) { recorded.tickets.push_back(unit.record()); });
  }
  recorded_.push_back(std::move(recorded));
  return ++last_ticket_;
}

bool UnitGroup::is_done(int index, Ticket ticket, Deadline deadline) {
  constexpr auto kTurn = std::chrono::milliseconds(20);
  WaitResult result = WaitResult::kLost;
  on(index, [&](ComputeUnit& unit) {
    const bool short_turn = deadline.remaining() > kTurn;
    result = unit.wait(ticket, short_turn ? Deadline::after(kTurn) : deadline);
    if (result == WaitResult::kLost) throw DeviceError("parallel", "its ticket is lost");
  });
  return result == WaitResult::kDone;
}

WaitResult UnitGroup::wait(Ticket ticket, Deadline deadline) {
  if (ticket == 0 || ticket > last_ticket_) {
    throw Error("parallel",
                "ticket " + std::to_string(ticket) + " is unknown: no call has returned it");
  }
  require_alive();
  const auto entry = std::ranges::find(recorded_, ticket, &Recorded::ticket);
  if (entry == recorded_.end()) return WaitResult::kDone;  // waited for before
  // In turns: if one unit is lost, others may wait for it in a sum forever.
  std::vector<int> pending(units_.size());
  std::iota(pending.begin(), pending.end(), 0);
  while (!pending.empty()) {
    const bool last_turn = deadline.expired();
    std::erase_if(pending, [&](int index) {
      return is_done(index, entry->tickets[static_cast<std::size_t>(index)], deadline);
    });
    if (last_turn && !pending.empty()) return WaitResult::kTimeout;
  }
  done_ = std::max(done_, entry->enqueued);
  recorded_.erase(recorded_.begin(), std::next(entry));
  return WaitResult::kDone;
}

ComputeStats UnitGroup::stats() const {
  ComputeStats sum;
  for (const auto& unit : units_) {
    const ComputeStats stats = unit->stats();
    sum.ops += stats.ops;
    sum.weight_bytes_read += stats.weight_bytes_read;
    sum.busy_seconds += stats.busy_seconds;
  }
  return sum;
}

void SharedMemory::order(UnitGroup& group, UnitMask earlier, int later) {
  for (int unit = 0; unit < group.size(); ++unit) {
    if (unit == later || (earlier & mask_of(unit)) == 0) continue;
    group.together([&] { group.peers().order(unit, later); });
  }
}

void SharedMemory::read(UnitGroup& group, int unit, std::size_t begin, std::size_t end) {
  UnitMask earlier = 0;
  uses_.update(begin, end, [&](std::size_t, std::size_t, Uses& uses) {
    earlier |= uses.writers;
    uses.readers |= mask_of(unit);
  });
  order(group, earlier, unit);
}

void SharedMemory::write(UnitGroup& group, int unit, std::size_t begin, std::size_t end) {
  UnitMask earlier = 0;
  uses_.update(begin, end, [&](std::size_t, std::size_t, Uses& uses) {
    earlier |= uses.readers | uses.writers;
    uses = {0, mask_of(unit)};
  });
  order(group, earlier, unit);
}

void SharedMemory::clear_finished(const UnitGroup& group) {
  if (group.done() < group.enqueued()) return;  // some calls may still use it
  uses_.update(0, size_, [](std::size_t, std::size_t, Uses& uses) { uses = {}; });
}

Slice AddressBook::find(const void* at) const {
  const auto* address = static_cast<const std::byte*>(at);
  auto next = buffers_.upper_bound(address);
  if (address == nullptr || next == buffers_.begin()) return {};
  const auto& [begin, buffer] = *std::prev(next);
  const auto offset = static_cast<std::size_t>(address - begin);
  return offset < buffer->size_bytes() ? Slice{buffer, offset} : Slice{};
}

}  // namespace tandem::device::parallel
