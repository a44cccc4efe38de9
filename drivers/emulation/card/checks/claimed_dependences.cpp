// SPDX-License-Identifier: Apache-2.0
//
// The part of RunChecks that is about loops with a `dependence` pragma.
#include <algorithm>

#include "emulation/card/checks/run_checks.h"
#include "emulation/protocol/checks.h"
#include "emulation/protocol/code_place.h"

namespace tandem::emulation {
namespace {

// Of memory behind a pointer that is in no buffer and no guarded variable.
constexpr uint64_t kMostBytes = 1 << 20;
constexpr uint64_t kNowhere = ~uint64_t{0};

std::string at_place(const SourcePlace& place) {
  return place.line == 0 ? "" : " at " + place.file + ":" + std::to_string(place.line);
}

std::string text_of(const DependenceClaim& claim) {
  std::string text = "variable=" + std::string(claim.variable);
  text += (claim.kinds & kInside) != 0 ? " intra" : " inter";
  const unsigned kinds = claim.kinds & (kRaw | kWar | kWaw);
  if (kinds == kRaw && claim.distance == 0) text += " RAW";
  if (kinds == kWar) text += " WAR";
  if (kinds == kWaw) text += " WAW";
  if (claim.distance == 0) return text + " false";
  return text + " distance=" + std::to_string(claim.distance) + " true";
}

std::string turns_text(uint32_t distance) {
  if (distance == 0) return "the same iteration";
  if (distance == 1) return "the iteration before";
  return "the iteration " + std::to_string(distance) + " before";
}

std::string advice_for(const DependenceViolation& violation) {
  if (violation.distance <= 1) return "remove the pragma, or carry the value in a variable";
  return "state distance=" + std::to_string(violation.distance) +
         " true in its place, or remove the pragma";
}

std::string message_of(const DependenceViolation& violation, const SourcePlace& earlier) {
  const DependenceClaim& claim = violation.claim;
  const bool reads = violation.kind == kRaw;
  const std::string place = std::string(claim.file) + ":" + std::to_string(claim.line);
  if ((claim.kinds & kRestrict) != 0) {
    return "the kernel reads bytes that it wrote" + at_place(earlier) + ", and both '" +
           claim.variable + "' point there, which the function at " + place +
           " states to be __restrict; hardware may exchange both: pass different buffers, or leave "
           "__restrict out";
  }
  return std::string("the kernel ") + (reads ? "reads" : "writes") + " bytes of '" +
         claim.variable + "' that " + turns_text(violation.distance) +
         (violation.kind == kWar ? " reads" : " writes") + at_place(earlier) +
         ", but the pragma at " + place + " states \"dependence " + text_of(claim) +
         "\"; hardware may exchange both: " + advice_for(violation);
}

}  // namespace

// A pointer to device memory: to the end of its buffer, or to the next argument in it. Another one:
// to the end of its variable.
uint64_t RunChecks::end_behind(uint64_t pointer) const {
  const uint64_t device = pointer - device_;
  if (device < device_bytes_) {
    const BufferRecord* const buffer = areas_.states.find(device);
    if (buffer == nullptr || device - buffer->address >= buffer->size_bytes) return pointer;
    uint64_t end = buffer->address + buffer->size_bytes;
    for (const PointerArgument& other : pointers_) {
      if (other.address > device) end = std::min(end, other.address);
    }
    return device_ + end;
  }
  if (pointer >= kAddressEnd) return pointer;
  uint64_t end = pointer;
  while (end - pointer < kMostBytes && may_touch(end, 1)) ++end;
  return end;
}

void RunChecks::claim(uint64_t loop, const DependenceClaim& claim, uint64_t address,
                      uint64_t size_bytes) {
  if (loops_.has_claim(loop, claim, address)) return;
  const uint64_t end = size_bytes != 0 ? address + size_bytes : end_behind(address);
  loops_.add_claim(loop, claim, {address, end});
}

void RunChecks::restrict_both(uint64_t scope, const char* names, const char* file, int line,
                              uint64_t address) {
  if (!loops_.has_loop(scope)) {
    begin_loop(scope);
    loops_.next_turn(scope);
  }
  // Without effect when begin_loop() had none.
  loops_.add_claim(scope, {names, file, line, kRaw | kInside | kRestrict, 0},
                   {address, end_behind(address)});
}

void RunChecks::watch_loops(uint64_t address, uint64_t size_bytes, bool writes, const void* from) {
  const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const auto violation = loops_.touch({address, address + size_bytes}, writes, from, frame);
  if (!areas_.settings.has(kCheckStrict) && ++num_watched_ >= unit_.most_watched) {
    loops_.clear();
    watch(announced_.size_bytes != 0);
  }
  if (!violation) return;
  const uint64_t device = address - device_;
  report_dependence(*violation, device < device_bytes_ ? device : kNowhere, from);
}

// Once per pragma; a read of an old value is told even if another order was told before. Hardware
// surely reads the old value if the write is in the iteration before, else in a deep pipeline only.
void RunChecks::report_dependence(const DependenceViolation& violation, uint64_t device_address,
                                  const void* from) {
  constexpr const char* kKind = "dependence_violated";
  const DependenceClaim& claim = violation.claim;
  const Place place{kKind, claim.file, static_cast<uint64_t>(claim.line)};
  const bool reads_old = violation.kind == kRaw;
  const auto known = seen_.find(place);
  any_found_ = true;
  if (known != seen_.end() && (known->second || !reads_old)) return;
  seen_[place] = reads_old;
  const SourcePlace earlier = place_of(code_place({violation.earlier}));
  const bool is_restrict = (claim.kinds & kRestrict) != 0;
  report({kKind,
          reads_old && !is_restrict && violation.distance <= 1,
          message_of(violation, earlier),
          device_address,
          "",
          0,
          {{"variable", json_string(claim.variable)},
           {"distance", std::to_string(violation.distance)},
           {"pragma_file", json_string(claim.file)},
           {"pragma_line", std::to_string(claim.line)},
           {"other_file", earlier.line == 0 ? "null" : json_string(earlier.file)},
           {"other_line", earlier.line == 0 ? "null" : std::to_string(earlier.line)}}},
         from);
}

}  // namespace tandem::emulation
