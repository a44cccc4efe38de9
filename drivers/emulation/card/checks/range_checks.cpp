// SPDX-License-Identifier: Apache-2.0
//
// The part of RunChecks that is about whole ranges of memory, before a loop.
//
// Shadow bytes tell of 8 bytes each; both ends of a range may need a look at its own states. What
// is not quickly known to be good is left to the loop with the checks.
#include <algorithm>
#include <cstring>
#include <optional>

#include "emulation/card/checks/run_checks.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kMostKnownBuffers = 16;
constexpr uint64_t kMostSpan = uint64_t{1} << 40;
constexpr uint64_t kEachByte = 0x0101010101010101;

// Whether all bytes of [begin, end), masked, are 0.
bool are_clear(const int8_t* begin, const int8_t* end, uint8_t mask) {
  uint64_t found = 0, word = 0;
  const uint64_t masks = kEachByte * mask;
  for (; end - begin >= 64 && found == 0; begin += 64) {
    for (int index = 0; index < 64; index += 8) {
      std::memcpy(&word, begin + index, 8);
      found |= word;
    }
    found &= masks;
  }
  for (; begin < end; ++begin) found |= static_cast<uint8_t>(*begin) & mask;
  return found == 0;
}

// Whether all states, masked, are `wanted`.
bool have_all(const uint8_t* states, uint64_t count, uint8_t mask, uint8_t wanted) {
  uint64_t found = 0, word = 0;
  const uint64_t masks = kEachByte * mask, all = kEachByte * wanted;
  for (; count >= 64 && found == 0; states += 64, count -= 64) {
    for (int index = 0; index < 64; index += 8) {
      std::memcpy(&word, states + index, 8);
      found |= (word & masks) ^ all;
    }
  }
  if (found != 0) return false;
  for (uint64_t byte = 0; byte < count; ++byte) found |= (states[byte] & mask) ^ wanted;
  return found == 0;
}

// The bytes before the first and behind the last multiple of 8 in [begin, end).
template <class Good>
bool are_ends_good(uint64_t begin, uint64_t end, const Good& good) {
  const uint64_t first = std::min((begin + 7) / 8 * 8, end);
  const uint64_t last = std::max(end / 8 * 8, first);
  return (first == begin || good(begin, first - begin)) && (last == end || good(last, end - last));
}

bool is_written_local(uint64_t begin, uint64_t end) {
  const uint64_t first = (begin + 7) / 8 * 8, last = end / 8 * 8;
  if (first < last && !are_clear(&shadow_of(first), &shadow_of(last), 0xff)) return false;
  return are_ends_good(begin, end, [](uint64_t at, uint64_t count) {
    const uint64_t bits = ((uint64_t{1} << count) - 1) << (at & 7);
    return may_touch(at, count) && (blank_bits_of(at) & bits) == 0;
  });
}

bool is_local(uint64_t begin, uint64_t end) {
  const uint64_t first = (begin + 7) / 8 * 8, last = end / 8 * 8;
  for (uint64_t at = first; at < last; at += 8) {
    const int8_t shadow = shadow_of(at);
    if (shadow != 0 && shadow != kBlank && shadow != kPassedOn) return false;
  }
  return are_ends_good(begin, end,
                       [](uint64_t at, uint64_t count) { return may_touch(at, count); });
}

void write_local(uint64_t begin, uint64_t end) {
  const uint64_t first = std::min((begin + 7) / 8 * 8, end);
  const uint64_t last = std::max(end / 8 * 8, first);
  if (first > begin) set_written(begin, first - begin);
  std::memset(&shadow_of(first), 0, (last - first) / 8);
  std::memset(&blank_bits_of(first), 0, (last - first) / 8);
  if (end > last) set_written(last, end - last);
}

// Calls `good(begin, end)` for the whole range if pieces lie closely, else or if that is false for
// each piece.
template <class Good>
bool are_pieces_good(const RunChecks::Pieces& pieces, const Good& good) {
  const uint64_t span = pieces.span();
  const bool is_dense = pieces.piece >= pieces.step || pieces.count == 1;
  if (is_dense || span / 64 <= pieces.count) {
    if (good(pieces.low, pieces.low + span)) return true;
    if (is_dense) return false;
  }
  for (uint64_t index = 0; index < pieces.count; ++index) {
    const uint64_t begin = pieces.low + index * pieces.step;
    if (!good(begin, begin + pieces.piece)) return false;
  }
  return true;
}

template <class Change>
void change_pieces(const RunChecks::Pieces& pieces, const Change& change) {
  if (pieces.piece >= pieces.step) return change(pieces.low, pieces.low + pieces.span());
  for (uint64_t index = 0; index < pieces.count; ++index) {
    const uint64_t begin = pieces.low + index * pieces.step;
    change(begin, begin + pieces.piece);
  }
}

}  // namespace

// What is known of buffers stays true while programs change nothing, since kernels only add stores.
void RunChecks::refresh_buffers() {
  const uint64_t changes = areas_.states.changes();
  if (changes != known_changes_) known_buffers_.clear();
  known_changes_ = changes;
  for (KnownBuffer& buffer : known_buffers_) buffer.is_bad[0] = buffer.is_bad[1] = false;
  areas_.shadow->refresh();
}

// In a call, buffers are then looked at in pieces: a program may change them often.
void RunChecks::forget_changed() {
  for (KnownBuffer& buffer : known_buffers_) {
    buffer.is_good[0] = buffer.is_good[1] = false;
    buffer.is_bad[0] = buffer.is_bad[1] = true;
  }
  known_changes_ = areas_.states.changes();
  areas_.shadow->refresh();
}

bool RunChecks::may_skip(const Pieces& pieces) const {
  if (is_watched_ || pieces.count == 0 || pieces.piece == 0) return false;
  if (pieces.piece > kMostSpan || pieces.count > kMostSpan) return false;
  if (pieces.count > 1 && pieces.step > kMostSpan / pieces.count) return false;
  if (!is_mappable(pieces.low) || !is_mappable(pieces.low + pieces.span())) return false;
  const uint64_t device = pieces.low - device_;
  if (device >= device_bytes_)
    return pieces.low >= device_ || pieces.low + pieces.span() <= device_;
  return pieces.span() <= device_bytes_ - device && areas_.states.covers(device, pieces.span());
}

bool RunChecks::is_plain_range(uint64_t device, uint64_t size_bytes, BufferUse use) const {
  const uint64_t end = device + size_bytes;
  while (device < end) {
    const uint64_t next = std::min(end, (device / kStateBlock + 1) * kStateBlock);
    if (!is_plain_block(device, next, use)) return false;
    device = next;
  }
  return true;
}

// Inside of one block. To make it known first would cost more than this look.
bool RunChecks::is_plain_block(uint64_t device, uint64_t end, BufferUse use) const {
  const bool loads = use == BufferUse::kLoads;
  const auto has_states = [&](uint64_t at, uint64_t count) {
    const uint8_t all = loads ? static_cast<uint8_t>(kReadMask) : uint8_t{0xff};
    const uint8_t wanted = loads ? static_cast<uint8_t>(kReadable) : kStoredState;
    return have_all(areas_.states.states() + at, count, all, wanted);
  };
  if (areas_.shadow->is_closed() || !areas_.shadow->is_known(device))
    return has_states(device, end - device);
  const uint64_t first = (device + 7) / 8 * 8, last = end / 8 * 8;
  const uint8_t mask = loads ? 0x7f : 0xff;
  if (first < last && !are_clear(&shadow_of(device_ + first), &shadow_of(device_ + last), mask)) {
    return false;
  }
  return are_ends_good(device, end, has_states);
}

bool RunChecks::is_live_range(uint64_t device, uint64_t size_bytes) const {
  return have_all(areas_.states.states() + device, size_bytes, kStateLive, kStateLive);
}

// Whether the range is in a buffer all of whose bytes are good. A buffer is looked at once per
// call.
bool RunChecks::is_good_buffer(uint64_t device, uint64_t size_bytes, BufferUse use) {
  if (areas_.states.changes() != known_changes_) forget_changed();
  const auto index = static_cast<size_t>(use);
  auto known = std::find_if(
      known_buffers_.begin(), known_buffers_.end(),
      [device](const KnownBuffer& each) { return each.begin <= device && device < each.end; });
  if (known == known_buffers_.end()) {
    if (known_buffers_.size() >= kMostKnownBuffers) return false;
    const BufferRecord* const record = areas_.states.find(device);
    if (record == nullptr || record->state.load() != kStateLive) return false;
    known_buffers_.push_back({record->address, record->address + record->size_bytes});
    known = known_buffers_.end() - 1;
    if (device < known->begin || device >= known->end) return false;
  }
  if (known->is_bad[index] || size_bytes > known->end - device) return false;
  if (known->is_good[index]) return true;
  known->is_good[index] = is_plain_range(known->begin, known->end - known->begin, use);
  known->is_bad[index] = !known->is_good[index];
  return known->is_good[index];
}

bool RunChecks::is_good_load(const Pieces& pieces) {
  if (!may_skip(pieces)) return false;
  const uint64_t device = pieces.low - device_;
  if (device >= device_bytes_) return are_pieces_good(pieces, is_written_local);
  if (is_good_buffer(device, pieces.span(), BufferUse::kLoads)) return true;
  return are_pieces_good(pieces, [this](uint64_t begin, uint64_t end) {
    return is_plain_range(begin - device_, end - begin, BufferUse::kLoads);
  });
}

bool RunChecks::is_good_store(const Pieces& pieces, bool is_whole) {
  if (!may_skip(pieces)) return false;
  const uint64_t device = pieces.low - device_;
  if (device >= device_bytes_) {
    return is_whole ? are_pieces_good(pieces, is_local) : are_pieces_good(pieces, is_written_local);
  }
  if (is_good_buffer(device, pieces.span(), BufferUse::kStores)) return true;
  return are_pieces_good(pieces, [this, is_whole](uint64_t begin, uint64_t end) {
    const uint64_t size_bytes = end - begin;
    return is_whole ? is_live_range(begin - device_, size_bytes)
                    : is_plain_range(begin - device_, size_bytes, BufferUse::kStores);
  });
}

// Records the accesses, if the loop surely makes them.
bool RunChecks::has_no_race(const Pieces& pieces, bool is_whole, bool writes, const void* from) {
  if (pieces.low - device_ >= device_bytes_) return true;
  if (!is_whole) return false;
  std::optional<RaceAhead> found;
  change_pieces(pieces, [&](uint64_t begin, uint64_t end) {
    const auto conflict =
        areas_.races->touch(unit_.index, begin - device_, end - begin, writes, code_offset(from));
    if (conflict && !found) found = RaceAhead{begin - device_, writes, from, *conflict};
  });
  const auto is_same = [&](const RaceAhead& race) { return race.from == from; };
  if (found && std::none_of(races_ahead_.begin(), races_ahead_.end(), is_same)) {
    races_ahead_.push_back(*found);
  }
  return !found;
}

void RunChecks::stored_pieces(const Pieces& pieces) {
  const uint64_t device = pieces.low - device_;
  if (device >= device_bytes_) return change_pieces(pieces, write_local);
  if (is_good_buffer(device, pieces.span(), BufferUse::kStores)) return;
  change_pieces(pieces, [this](uint64_t begin, uint64_t end) {
    areas_.shadow->store_range(begin - device_, end - begin);
  });
}

}  // namespace tandem::emulation
