// SPDX-License-Identifier: Apache-2.0
//
// Addresses of a command's arguments are in its register map. A command is over when its packet
// says so.
#include "emulation/xrt_shim/checks/buffer_checks.h"

#include <ert.h>

#include <algorithm>
#include <cstring>

#include "emulation/protocol/checks.h"
#include "emulation/protocol/code_place.h"
#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/checks/host_findings.h"

namespace tandem::emulation {
namespace {

constexpr uint32_t kGlobalKind = 1;

}  // namespace

void BufferChecks::made(uint64_t address, uint64_t size_bytes, uint32_t group, bool mirrored) {
  states_.make_buffer(address, size_bytes, group, !mirrored, caller_place());
  const std::lock_guard<std::mutex> lock(mutex_);
  copies_.erase(address);
  if (mirrored && card_.has(kCheckSync)) copies_[address].size_bytes = size_bytes;
}

void BufferChecks::freed(uint64_t address, uint64_t size_bytes) {
  std::vector<std::pair<std::string, std::string>> users;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    copies_.erase(address);
    for (const auto& [packet, command] : started_) {
      if (!card_.packet_runs(packet)) continue;
      for (const Use& use : command.uses) {
        const bool inside = use.address >= address && use.address - address < size_bytes;
        if (inside) users.emplace_back(command.kernel, use.argument);
      }
    }
  }
  states_.free_buffer(address, size_bytes);
  for (const auto& [kernel, argument] : users) {
    report("use_after_free", kernel, "", argument,
           "the program frees a buffer while a run uses it: wait for the run first");
  }
}

void BufferChecks::mapped(uint64_t address, std::byte* host) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto copy = copies_.find(address);
  if (copy != copies_.end()) copy->second.host = host;
}

void BufferChecks::synced(uint64_t buffer, uint64_t address, uint64_t size_bytes, bool to_device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (to_device) {
    states_.change(address, size_bytes, kStateLive | kStateWritten, kStateStale);
  } else {
    states_.change(address, size_bytes, 0, kStateStale);
  }
  const auto found = copies_.find(buffer);
  if (found == copies_.end() || found->second.host == nullptr) return;
  HostCopy& copy = found->second;
  if (copy.synced.empty()) copy.synced.resize(copy.size_bytes);
  const uint64_t offset = address - buffer;
  std::memcpy(copy.synced.data() + offset, copy.host + offset, size_bytes);
}

void BufferChecks::written(uint64_t address, uint64_t size_bytes) {
  states_.change(address, size_bytes, kStateLive | kStateWritten, kStateStale);
}

const BufferChecks::HostCopy* BufferChecks::find_copy(uint64_t address, uint64_t& begin) const {
  const auto after = copies_.upper_bound(address);
  if (after == copies_.begin()) return nullptr;
  const auto found = std::prev(after);
  begin = found->first;
  return address - begin < found->second.size_bytes ? &found->second : nullptr;
}

// The host's bytes that differ from what the last sync left there.
void BufferChecks::mark_stale(uint64_t address) {
  uint64_t begin = 0;
  const HostCopy* const found = find_copy(address, begin);
  if (found == nullptr || found->host == nullptr) return;
  const HostCopy& copy = *found;
  if (copy.synced.size() == copy.size_bytes &&
      std::memcmp(copy.host, copy.synced.data(), copy.size_bytes) == 0) {
    return;
  }
  uint8_t* const states = states_.states() + begin;
  for (uint64_t byte = 0; byte < copy.size_bytes; ++byte) {
    const std::byte before = copy.synced.empty() ? std::byte{0} : copy.synced[byte];
    if (copy.host[byte] != before) states[byte] |= kStateStale;
  }
}

void BufferChecks::starting(const Program& program, const std::vector<uint32_t>& units,
                            uint64_t packet_offset, const uint32_t* registers, uint64_t num_words) {
  const std::string& kernel = program.units[units.front()].kernel;
  const auto known = program.arguments.find(kernel);
  if (known == program.arguments.end()) return;
  Started command{kernel, {}};
  for (size_t index = 0; index < known->second.size(); ++index) {
    const KernelArgument& argument = known->second[index];
    const uint64_t word = argument.offset / 4;
    if (argument.kind != kGlobalKind || argument.offset == 0 || word + 2 > num_words) continue;
    uint64_t address = 0;
    std::memcpy(&address, registers + word, sizeof(address));
    check_pointer(program, units, index, address);
    command.uses.push_back({argument.name, address});
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (card_.has(kCheckSync)) {
    for (const Use& use : command.uses) mark_stale(use.address);
  }
  started_[packet_offset] = std::move(command);
}

void BufferChecks::check_pointer(const Program& program, const std::vector<uint32_t>& units,
                                 size_t argument, uint64_t address) {
  const xclbin::ComputeUnit& unit = program.units[units.front()];
  const std::string& name = program.arguments.at(unit.kernel)[argument].name;
  if (!states_.covers(address, 1)) return;  // another card's memory
  const uint8_t state = states_.states()[address];
  if ((state & kStateFreed) != 0) {
    report("use_after_free", unit.kernel, unit.name, name,
           "a run begins with a buffer that was freed: keep the buffer until the run has ended");
  } else if ((state & kStateLive) == 0) {
    report("bad_argument", unit.kernel, unit.name, name,
           address == 0 ? "a run begins without this argument: set it to a buffer"
                        : "a run begins with an address where no buffer begins: set the argument "
                          "to a buffer");
  }
  for (const uint32_t index : units) {
    const auto reached = program.reached.find({index, argument});
    if (reached == program.reached.end() || reached->second.empty()) return;
    for (const auto& [first, end] : reached->second) {
      if (address >= first && address < end) return;
    }
  }
  report("wrong_bank", unit.kernel, unit.name, name,
         "the buffer is in a bank that this argument's port is not connected to: allocate it in "
         "kernel.group_id() of this argument, or connect the bank (--connectivity.sp)");
}

void BufferChecks::report(const char* kind, const std::string& kernel, const std::string& unit,
                          const std::string& argument, const std::string& message) {
  report_host_finding(card_, {kind, kernel, unit, argument, message}, caller_place());
}

}  // namespace tandem::emulation
