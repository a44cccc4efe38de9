// SPDX-License-Identifier: Apache-2.0
//
// The buffers and arguments that findings name, and what was told about them before.
#include <algorithm>
#include <string>
#include <tuple>

#include "emulation/card/checks/run_checks.h"
#include "emulation/protocol/buffer_finding.h"

namespace tandem::emulation {

// The buffer that contains the address, or the closest one.
RunChecks::Place RunChecks::place_at(const char* kind, const void* from,
                                     uint64_t device_address) const {
  uint64_t buffer = kNoDeviceAddress;
  if (device_address != kNoDeviceAddress) {
    const BufferRecord* const record = areas_.states.find(device_address);
    if (record != nullptr) buffer = record->number;
  }
  return {kind, from, buffer};
}

bool RunChecks::is_known(const char* kind, const void* from, uint64_t device_address) const {
  return seen_.contains(place_at(kind, from, device_address));
}

// Once per place and buffer.
bool RunChecks::is_new(const char* kind, const void* from, uint64_t device_address) {
  const auto [known, is_first] = seen_.try_emplace(place_at(kind, from, device_address), true);
  if (!is_first && known->second) any_found_ = true;
  return is_first;
}

// A buffer that was never synced: bytes that are 0 on both sides do not tell.
bool RunChecks::holds_stale_bytes(uint64_t address) const {
  const BufferRecord* const buffer = areas_.states.find(address);
  return buffer != nullptr && areas_.states.any(buffer->address, buffer->size_bytes, kStateStale);
}

// Whether the line was told for another buffer, beyond whose end it went until this one begins.
bool RunChecks::is_run_into(const Finding& finding, uint64_t address) const {
  const BufferRecord* const buffer =
      address == kNoDeviceAddress ? nullptr : areas_.states.find(address);
  if (buffer == nullptr || address >= buffer->address) return false;
  const auto first = told_lines_.lower_bound({finding.kind, finding.file, finding.line, 0});
  return first != told_lines_.end() && std::get<0>(*first) == finding.kind &&
         std::get<1>(*first) == finding.file && std::get<2>(*first) == finding.line;
}

void RunChecks::add_buffer(Finding& finding, uint64_t address) const {
  finding.argument = argument_of(address);
  add_buffer_to(finding, areas_.states, address);
}

// The argument whose buffer has the address, else the one that begins closest before it. An address
// before its closest buffer counts as that buffer's first byte.
std::string RunChecks::argument_of(uint64_t address) const {
  const BufferRecord* const buffer = areas_.states.find(address);
  if (buffer != nullptr) address = std::max(address, buffer->address);
  const PointerArgument* best = nullptr;
  for (const PointerArgument& pointer : pointers_) {
    if (pointer.address > address) continue;
    if (best == nullptr || pointer.address > best->address) best = &pointer;
  }
  if (best == nullptr && pointers_.size() == 1) best = pointers_.data();
  return best == nullptr ? "" : best->name;
}

}  // namespace tandem::emulation
