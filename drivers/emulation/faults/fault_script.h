// SPDX-License-Identifier: Apache-2.0
//
// Scripts of faults for emulated cards: which fault happens at which event.
//
// Statements end with a line or ';', '#' begins a comment: "seed N", or
//   EVENT [N] [trigger key=value ...] FAULT [fault key=value ...]
// The words and keys are in kEvents, kFaults and FaultKey, their meaning in FAULTS.md. One line
// "launch 3 unit=add_1 late by=20ms" delays the third launch of unit add_1. Strict: an unknown
// word, a key that does not belong to the fault and a value out of range are errors. Pure. Errors:
// std::runtime_error "NAME:LINE: field 'FIELD': what is wrong".
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tandem::emulation {

enum class FaultEvent : uint32_t { kOpen, kLoad, kAllocate, kSync, kLaunch, kAfter };

enum class FaultKind : uint32_t {
  kDie,
  kHang,
  kReset,
  kFail,
  kShort,
  kSlow,
  kStall,
  kFlip,
  kLate,
  kTwice,
  kNever,
  kLostInterrupt
};

enum class Ecc : uint32_t { kNone, kCorrected, kUncorrected };

using FaultTime = std::chrono::microseconds;

// What happens. Members that do not belong to the kind keep their defaults.
struct CardFault {
  FaultKind kind = FaultKind::kFail;
  std::optional<FaultTime> lasts;   // for=; empty: until the program ends
  FaultTime delay{0};               // delay=: between the event and the fault
  FaultTime by{0};                  // by=
  double factor = 1;                // factor=, of the link speed
  uint64_t bytes = 0;               // bytes=, of the card's memory
  std::optional<uint64_t> offset;   // offset=, a byte of the transfer
  std::optional<uint64_t> address;  // address=, in device memory
  std::optional<uint32_t> bit;      // bit=, 0 to 7
  Ecc ecc = Ecc::kNone;             // ecc=
  int error = 0;                    // error=, an errno value; 0: the usual one of the fault
};

enum class LinkDirection : uint32_t { kBoth, kToDevice, kFromDevice };

// When it happens: at the N-th event, at every N-th, with a probability at each, or at every event.
struct FaultRule {
  FaultEvent event = FaultEvent::kLaunch;
  uint64_t number = 0;           // 0: not by number
  uint64_t every = 0;            // 0: not by period
  double probability = 1;        // for events that number and every select
  uint64_t skip = 0;             // skip=: the first events do not count for every and probability
  uint64_t most = 0;             // count=: the limit of faults; 0: no limit
  std::optional<uint32_t> card;  // empty: any card; each card counts separately
  std::string unit;              // for launches: "unit" or "kernel:unit"
  LinkDirection direction = LinkDirection::kBoth;  // for syncs
  FaultTime after{0};  // for kAfter: time since the program opened a card
  CardFault fault;
  uint32_t line = 0;
};

struct FaultScript {
  uint64_t seed = 0;
  std::vector<FaultRule> rules;
};

// `name` is for messages: a path, or TANDEM_FAULTS.
FaultScript parse_fault_script(const std::string& text, const std::string& name);
// The script that TANDEM_FAULTS=`value` names. The value is a file ("@path", a path with '/', or an
// existing file), otherwise the text of a script. Errors: also files that cannot be read.
FaultScript read_fault_script(const std::string& value);

// A statement that parse_fault_script() reads as the same rule.
std::string fault_statement(const FaultRule& rule);
const char* fault_word(FaultKind kind);
const char* event_word(FaultEvent event);

}  // namespace tandem::emulation
