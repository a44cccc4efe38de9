// SPDX-License-Identifier: Apache-2.0
//
// A write that meets another item's access is told at the next event, when its bytes are there.
#include "emulation/card/checks/group_checks.h"

#include <algorithm>
#include <string>

#include "emulation/card/checks/local_memory.h"
#include "emulation/card/checks/run_checks.h"
#include "emulation/card/checks/value_states.h"
#include "emulation/protocol/code_place.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kLocalOnly = ~uint64_t{0};

std::string place_text(const SourcePlace& place) {
  return place.line == 0 ? "" : " at " + place.file + ":" + std::to_string(place.line);
}

}  // namespace

// Another library's memory may come to these addresses.
GroupChecks::~GroupChecks() {
  for (const Range& range : marked_) {
    std::memset(value_states_of(range.begin), 0, range.size_bytes);
  }
}

bool GroupChecks::begin_group(uint64_t items, std::vector<Range> locals) {
  end_group();
  locals_ = std::move(locals);
  if (marked_.empty()) marked_ = locals_;
  watches_ = items > 1 && items <= ItemRaces::kMostItems;
  code_begin_ = checks_.unit_.code.begin;
  if (watches_) races_.begin_group(items);
  return watches_;
}

void GroupChecks::end_group() {
  finish_write();
  const std::vector<const void*> uses = std::exchange(uses_, {});
  watches_ = false;
  if (!std::exchange(has_raced_, false)) {
    for (const void* const use : uses) value_used(use);
  }
}

void GroupChecks::end_interval() {
  finish_write();
  races_.end_interval();
}

bool GroupChecks::is_shared(uint64_t address) const {
  if (checks_.is_in_device(address)) return true;
  return std::any_of(locals_.begin(), locals_.end(), [address](const Range& range) {
    return address - range.begin < range.size_bytes;
  });
}

void GroupChecks::meet(uint64_t address, uint64_t size_bytes, bool writes, const void* from,
                       const ItemConflict& conflict) {
  if (!writes || size_bytes > sizeof(last_.before)) {
    tell_race(conflict.address, writes, from, conflict);
    return;
  }
  if (!is_shared(address + size_bytes - 1)) return;  // the access itself is told, or faults
  last_ = {address, size_bytes, {}, from, conflict};
  std::memcpy(last_.before, reinterpret_cast<const void*>(address), size_bytes);
}

void GroupChecks::tell_write() {
  const Write write = last_;
  last_.size_bytes = 0;
  const auto* const now = reinterpret_cast<const void*>(write.address);
  if (std::memcmp(write.before, now, write.size_bytes) == 0) return;
  tell_race(write.conflict.address, true, write.from, write.conflict);
}

const void* GroupChecks::code_at(uint32_t offset) const {
  return reinterpret_cast<const void*>(code_begin_ + offset);
}

// Of two accesses, whichever comes first.
bool GroupChecks::is_new_pair(const void* from, uint32_t other) {
  if (!told_codes_.emplace(code_offset(from), other).second) return false;
  std::string here = place_text(place_of(code_place({from})));
  std::string there = place_text(place_of(code_place({code_at(other)})));
  if (here.empty() || there.empty()) return true;
  if (there < here) std::swap(here, there);
  return told_places_.emplace(here, there).second;
}

void GroupChecks::tell_race(uint64_t address, bool writes, const void* from,
                            const ItemConflict& conflict) {
  has_raced_ = true;
  checks_.any_found_ = true;
  if (!is_new_pair(from, conflict.code_offset)) return;
  const bool in_device = checks_.is_in_device(address);
  const uint64_t device = in_device ? address - checks_.device_ : kLocalOnly;
  const void* const there = code_at(conflict.code_offset);
  checks_.report(
      {"race", true,
       std::string("a work-item ") + (writes ? "writes" : "reads") + " bytes of " +
           (in_device ? "a buffer" : "local memory") + " that another work-item of its group " +
           (conflict.wrote ? "writes" : "reads") + place_text(place_of(code_place({there}))) +
           ", without a barrier between: call barrier() between the two accesses, or "
           "give each work-item bytes of its own",
       device, "", 0},
      from);
}

void GroupChecks::atomic(uint64_t address, uint64_t size_bytes, const void* from) {
  if (!checks_.is_in_device(address)) {
    const bool inside = !is_mappable(address) || may_touch_bytes(address, size_bytes);
    if (!inside) checks_.report_local(address, size_bytes, true, from);
    return;
  }
  const uint64_t device = address - checks_.device_;
  const MemoryStates& states = checks_.areas_.states;
  const bool is_live =
      states.covers(device, size_bytes) &&
      (states.states()[device] & states.states()[device + size_bytes - 1] & kStateLive) != 0;
  if (is_live) {
    checks_.areas_.shadow->store_range(device, size_bytes);
  } else {
    checks_.report_outside(device, size_bytes, true, from);
  }
}

void GroupChecks::uneven_barrier(const void* first, const void* other, uint64_t reached,
                                 uint64_t items) {
  std::string elsewhere;
  if (other != nullptr) {
    const SourcePlace here = place_of(code_place({first})), there = place_of(code_place({other}));
    // The compiler may have made two calls of one.
    const bool is_same = here.file == there.file && here.line == there.line;
    if (!is_same) elsewhere = place_text(there);
  }
  if (elsewhere.empty() && reached == items) return;
  if (!checks_.is_new("deadlock", first, kLocalOnly)) return;
  const std::string what =
      elsewhere.empty()
          ? "only " + std::to_string(reached) + " of the " + std::to_string(items) +
                " work-items of a group reach this barrier; the others have ended"
          : "some work-items of a group wait at this barrier, others at the one" + elsewhere;
  checks_.report({"deadlock", true,
                  what + ". Hardware waits for ever, or continues with wrong values: let all "
                         "work-items of a group reach the same barriers",
                  kLocalOnly, "", 0},
                 first);
}

void GroupChecks::value_used(const void* from) {
  if (watches_) {
    constexpr size_t kMostUses = 64;
    const bool is_known = std::find(uses_.begin(), uses_.end(), from) != uses_.end();
    if (!is_known && uses_.size() < kMostUses) uses_.push_back(from);
    return;
  }
  if (!checks_.is_new("uninitialised_local", from, kLocalOnly)) return;
  checks_.report({"uninitialised_local", false,
                  "a value is used that comes from a local variable or local memory to which "
                  "nothing was written; hardware has any value there: initialise it",
                  kLocalOnly, "", 0},
                 from);
}

// The padding of a structure that is stored as one number is behind its lowest byte. So are bits
// that were shifted out of the way of others.
void GroupChecks::value_stored(uint64_t states, uint64_t size_bytes, uint64_t lane_bytes,
                               const void* from) {
  const auto first = reinterpret_cast<uint64_t>(value_states_of(checks_.device_));
  if (states - first >= checks_.device_bytes_) return;
  auto* const stored = reinterpret_cast<uint8_t*>(states);
  bool is_missing = false;
  for (uint64_t lane = 0; lane < size_bytes; lane += lane_bytes) is_missing |= stored[lane] != 0;
  std::memset(stored, 0, size_bytes);
  if (is_missing) value_used(from);
}

// Of a part, as the padding of a structure, nothing is known.
void GroupChecks::values_copied(uint64_t to, uint64_t from, uint64_t size_bytes,
                                const void* caller) {
  if (!is_mappable(to) || !is_mappable(from)) return;
  if (!checks_.is_in_device(to)) {
    std::memmove(value_states_of(to), value_states_of(from), size_bytes);
  } else if (are_missing_values(from, size_bytes)) {
    value_used(caller);
  }
}

void GroupChecks::values_set(uint64_t to, uint64_t size_bytes) {
  if (is_mappable(to) && !checks_.is_in_device(to)) {
    std::memset(value_states_of(to), 0, size_bytes);
  }
}

}  // namespace tandem::emulation
