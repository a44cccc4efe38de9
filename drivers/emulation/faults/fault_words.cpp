// SPDX-License-Identifier: Apache-2.0
//
// Tables of words, and numbers with units.
#include "emulation/faults/fault_words.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sstream>
#include <stdexcept>

namespace tandem::emulation {
namespace {

struct EventWord {
  FaultEvent event;
  const char* word;
  const char* keys;
};
constexpr EventWord kEvents[] = {
    {FaultEvent::kOpen, "open", "every, p, count, skip, card"},
    {FaultEvent::kLoad, "load", "every, p, count, skip, card"},
    {FaultEvent::kAllocate, "allocate", "every, p, count, skip, card"},
    {FaultEvent::kSync, "sync", "every, p, count, skip, card, direction"},
    {FaultEvent::kLaunch, "launch", "every, p, count, skip, card, unit"},
    {FaultEvent::kAfter, "after", "card"},
};

// Bits of events.
constexpr uint32_t bit_of(FaultEvent event) { return uint32_t{1} << static_cast<uint32_t>(event); }
constexpr uint32_t kAtOpen = bit_of(FaultEvent::kOpen);
constexpr uint32_t kAtLoad = bit_of(FaultEvent::kLoad);
constexpr uint32_t kAtAllocate = bit_of(FaultEvent::kAllocate);
constexpr uint32_t kAtSync = bit_of(FaultEvent::kSync);
constexpr uint32_t kAtLaunch = bit_of(FaultEvent::kLaunch);
constexpr uint32_t kAtTime = bit_of(FaultEvent::kAfter);
constexpr uint32_t kOfCard = kAtLoad | kAtAllocate | kAtSync | kAtLaunch | kAtTime;

struct FaultWord {
  FaultKind kind;
  const char* word;
  uint32_t events;
  const char* keys;
};
constexpr FaultWord kFaults[] = {
    {FaultKind::kDie, "die", kOfCard, "for, delay"},
    {FaultKind::kHang, "hang", kOfCard, "for, delay"},
    {FaultKind::kReset, "reset", kOfCard, "for, delay"},
    {FaultKind::kFail, "fail", kAtOpen | kAtLoad | kAtAllocate | kAtSync | kAtLaunch, "error"},
    {FaultKind::kShort, "short", kAtAllocate | kAtTime, "bytes, for"},
    {FaultKind::kSlow, "slow", kAtSync | kAtTime, "factor, for"},
    {FaultKind::kStall, "stall", kAtSync, "for, error"},
    {FaultKind::kFlip, "flip", kAtSync | kAtLaunch, "offset, address, bit, ecc"},
    {FaultKind::kLate, "late", kAtLaunch, "by"},
    {FaultKind::kTwice, "twice", kAtLaunch, ""},
    {FaultKind::kNever, "never", kAtLaunch, ""},
    {FaultKind::kLostInterrupt, "lost_interrupt", kAtLaunch, ""},
};

struct ErrorWord {
  int error;
  const char* word;
};
constexpr ErrorWord kErrors[] = {
    {EIO, "EIO"},       {EBUSY, "EBUSY"},   {ENODEV, "ENODEV"}, {ETIMEDOUT, "ETIMEDOUT"},
    {EINVAL, "EINVAL"}, {ENOMEM, "ENOMEM"}, {EAGAIN, "EAGAIN"}, {EDEADLK, "EDEADLK"},
    {EPERM, "EPERM"},
};

const FaultWord& word_of(FaultKind kind) {
  return *std::find_if(std::begin(kFaults), std::end(kFaults),
                       [kind](const FaultWord& known) { return known.kind == kind; });
}

const EventWord& word_of(FaultEvent event) {
  return *std::find_if(std::begin(kEvents), std::end(kEvents),
                       [event](const EventWord& known) { return known.event == event; });
}

template <typename Number>
bool read_whole(const std::string& text, Number& number, int base) {
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number, base);
  return code == std::errc() && stop == end && !text.empty();
}

uint64_t read_between(const std::string& text, uint64_t low, uint64_t high) {
  const uint64_t number = read_number(text);
  if (number < low || number > high) {
    throw std::runtime_error("'" + text + "' is not from " + std::to_string(low) + " to " +
                             std::to_string(high));
  }
  return number;
}

// A number and the text after it.
double read_amount(const std::string& text, std::string& unit) {
  double amount = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, amount);
  if (code != std::errc() || !(amount >= 0))
    throw std::runtime_error("'" + text + "' is not a number");
  unit.assign(stop, end);
  return amount;
}

}  // namespace

std::optional<FaultEvent> find_event(const std::string& word) {
  for (const EventWord& known : kEvents) {
    if (word == known.word) return known.event;
  }
  return std::nullopt;
}

std::optional<FaultKind> find_fault(const std::string& word) {
  for (const FaultWord& known : kFaults) {
    if (word == known.word) return known.kind;
  }
  return std::nullopt;
}

std::string all_events() {
  std::string all;
  for (const EventWord& known : kEvents) all += (all.empty() ? "" : ", ") + std::string(known.word);
  return all;
}

std::string faults_at(FaultEvent event) {
  std::string all;
  for (const FaultWord& known : kFaults) {
    if (may_happen(known.kind, event)) all += (all.empty() ? "" : ", ") + std::string(known.word);
  }
  return all;
}

bool may_happen(FaultKind kind, FaultEvent event) {
  return (word_of(kind).events & bit_of(event)) != 0;
}

bool has_key(FaultKind kind, const std::string& key) {
  std::istringstream keys(word_of(kind).keys);
  for (std::string known; std::getline(keys >> std::ws, known, ',');) {
    if (known == key) return true;
  }
  return false;
}

std::string fault_keys(FaultKind kind) {
  const std::string keys = word_of(kind).keys;
  return keys.empty() ? "none" : keys;
}

std::string trigger_keys(FaultEvent event) { return word_of(event).keys; }
const char* fault_word(FaultKind kind) { return word_of(kind).word; }
const char* event_word(FaultEvent event) { return word_of(event).word; }

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

uint64_t read_number(const std::string& text) {
  const bool is_hexadecimal = text.compare(0, 2, "0x") == 0;
  uint64_t number = 0;
  if (read_whole(is_hexadecimal ? text.substr(2) : text, number, is_hexadecimal ? 16 : 10)) {
    return number;
  }
  throw std::runtime_error("'" + text + "' is not a whole number");
}

uint64_t read_count(const std::string& text) { return read_between(text, 1, ~uint64_t{0}); }
uint32_t read_card(const std::string& text) {
  return static_cast<uint32_t>(read_between(text, 0, 15));
}
uint32_t read_bit(const std::string& text) {
  return static_cast<uint32_t>(read_between(text, 0, 7));
}

uint64_t read_bytes(const std::string& text) {
  constexpr uint64_t kMost = uint64_t{1} << 44;
  std::string digits = text;
  uint32_t shift = 0;
  const size_t unit = text.empty() ? std::string::npos : std::string("KMG").find(text.back());
  if (unit != std::string::npos) {
    shift = 10 * static_cast<uint32_t>(unit + 1);
    digits.pop_back();
  }
  return read_between(digits, 1, kMost >> shift) << shift;
}

double read_share(const std::string& text) {
  std::string unit;
  const double share = read_amount(text, unit);
  if (unit.empty() && share > 0 && share <= 1) return share;
  throw std::runtime_error("'" + text + "' is not above 0 and at most 1");
}

FaultTime read_time(const std::string& text) {
  constexpr double kMostSeconds = 366.0 * 86400;
  std::string unit;
  const double amount = read_amount(text, unit);
  const double scale = unit == "us" ? 1 : unit == "ms" ? 1e3 : unit == "s" ? 1e6 : 0;
  if (scale == 0) throw std::runtime_error("'" + text + "' has no unit; write us, ms or s");
  const double time = amount * scale;
  if (time >= 1 && time <= kMostSeconds * 1e6) return FaultTime(static_cast<int64_t>(time));
  throw std::runtime_error("'" + text + "' is not from 1us to a year");
}

Ecc read_ecc(const std::string& text) {
  for (Ecc ecc : {Ecc::kNone, Ecc::kCorrected, Ecc::kUncorrected}) {
    if (text == ecc_word(ecc)) return ecc;
  }
  throw std::runtime_error("'" + text + "' is not none, corrected or uncorrected");
}

LinkDirection read_direction(const std::string& text) {
  for (LinkDirection direction : {LinkDirection::kToDevice, LinkDirection::kFromDevice}) {
    if (text == direction_word(direction)) return direction;
  }
  throw std::runtime_error("'" + text + "' is not to_device or from_device");
}

int read_error(const std::string& text) {
  std::string all;
  for (const ErrorWord& known : kErrors) {
    if (text == known.word) return known.error;
    all += (all.empty() ? "" : ", ") + std::string(known.word);
  }
  throw std::runtime_error("'" + text + "' is none of " + all);
}

std::string time_text(FaultTime time) {
  const int64_t count = time.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + "ms" : std::to_string(count) + "us";
}

const char* ecc_word(Ecc ecc) {
  return ecc == Ecc::kNone ? "none" : ecc == Ecc::kCorrected ? "corrected" : "uncorrected";
}

const char* direction_word(LinkDirection direction) {
  return direction == LinkDirection::kToDevice ? "to_device" : "from_device";
}

const char* error_word(int error) {
  for (const ErrorWord& known : kErrors) {
    if (error == known.error) return known.word;
  }
  return "EIO";
}

}  // namespace tandem::emulation
