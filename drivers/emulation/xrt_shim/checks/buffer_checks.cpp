// SPDX-License-Identifier: Apache-2.0
//
// Addresses of a command's arguments are in its register map. A command is over when its packet
// says so.
#include "emulation/xrt_shim/checks/buffer_checks.h"

#include <dlfcn.h>
#include <ert.h>
#include <execinfo.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "emulation/protocol/checks.h"
#include "emulation/protocol/code_place.h"
#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/checks/host_findings.h"

namespace tandem::emulation {
namespace {

constexpr uint32_t kGlobalKind = 1;
constexpr uint32_t kStreamKind = 4;

std::atomic<int> num_checks{0};

// As the runtime guard knows; false without it.
bool owns_its_pages(const void* host, uint64_t size_bytes) {
  static auto* const function =
      reinterpret_cast<bool (*)(const void*, size_t)>(dlsym(RTLD_DEFAULT, "tandem_owns_pages"));
  return function != nullptr && function(host, size_bytes);
}

}  // namespace

BufferChecks::BufferChecks(Card& card, const MemoryStates& states) : card_(card), states_(states) {
  num_checks.fetch_add(1);
  watch_end();
  if (!card_.has(kCheckSync)) return;
  static std::once_flag once;
  std::call_once(once, [] {
    set_read_reporter(&BufferChecks::report_read);
    std::atexit(report_reads);
  });
}

BufferChecks::~BufferChecks() {
  ending();
  num_checks.fetch_sub(1);
  report_reads();
}

bool BufferChecks::any() { return num_checks.load(std::memory_order_relaxed) != 0; }

void BufferChecks::made(uint64_t address, uint64_t size_bytes, uint32_t group, bool mirrored) {
  states_.make_buffer(address, size_bytes, group, !mirrored, caller_place());
  const std::lock_guard<std::mutex> lock(mutex_);
  copies_.erase(address);
  results_.erase(results_.lower_bound(address), results_.lower_bound(address + size_bytes));
  if (mirrored && card_.has(kCheckSync)) copies_[address].size_bytes = size_bytes;
}

void BufferChecks::freed(uint64_t address, uint64_t size_bytes) {
  std::vector<std::pair<std::string, std::string>> users;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    copies_.erase(address);
    for (const auto& [packet, command] : started_) {
      if (card_.packet_state(packet) != ERT_CMD_STATE_RUNNING) continue;
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

void BufferChecks::mapped(uint64_t address, std::byte* host, bool owns_pages) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = copies_.find(address);
  if (found == copies_.end()) return;
  HostCopy& copy = found->second;
  copy.host = host;
  if (!states_.covers(address, copy.size_bytes)) return;
  const bool whole_pages = owns_pages || owns_its_pages(host, copy.size_bytes);
  copy.watched = watch_copy(this, address, host, copy.size_bytes, whole_pages, states_);
}

void BufferChecks::unmapped(uint64_t address) {
  report_reads();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = copies_.find(address);
  if (found == copies_.end()) return;
  unwatch_copy(found->second.watched);
  found->second.watched = nullptr;
  found->second.host = nullptr;
}

void BufferChecks::syncing(uint64_t buffer, uint64_t address, uint64_t size_bytes) {
  report_reads();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = copies_.find(buffer);
  if (found != copies_.end()) begin_use(found->second.watched, address - buffer, size_bytes);
}

void BufferChecks::synced(uint64_t buffer, uint64_t address, uint64_t size_bytes, bool to_device) {
  if (!to_device) note_early_sync(address, size_bytes);
  end_sync(buffer, address, size_bytes, to_device);
  report_early_syncs();
}

void BufferChecks::end_sync(uint64_t buffer, uint64_t address, uint64_t size_bytes,
                            bool to_device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  results_.erase(results_.lower_bound(address), results_.lower_bound(address + size_bytes));
  if (to_device) {
    states_.change(address, size_bytes, kStateLive | kStateWritten, kStateStale | kStateUnseen);
  } else {
    states_.change(address, size_bytes, 0, kStateStale | kStateUnseen);
  }
  const auto found = copies_.find(buffer);
  if (found == copies_.end() || found->second.host == nullptr) return;
  HostCopy& copy = found->second;
  if (copy.synced.empty()) copy.synced.resize(copy.size_bytes);
  const uint64_t offset = address - buffer;
  std::memcpy(copy.synced.data() + offset, copy.host + offset, size_bytes);
  end_use(copy.watched, offset, size_bytes);
}

void BufferChecks::sync_failed(uint64_t buffer, uint64_t address, uint64_t size_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = copies_.find(buffer);
  if (found != copies_.end()) end_use(found->second.watched, address - buffer, size_bytes);
}

void BufferChecks::written(uint64_t address, uint64_t size_bytes) {
  states_.change(address, size_bytes, kStateLive | kStateWritten, kStateStale | kStateUnseen);
}

void BufferChecks::copied(uint64_t address, uint64_t size_bytes) {
  states_.change(address, size_bytes, kStateLive | kStateWritten | kStateUnseen, kStateStale);
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t begin = 0;
  const HostCopy* const copy = find_copy(address, begin);
  if (copy != nullptr) close_unseen(copy->watched);
}

BufferChecks::HostCopy* BufferChecks::find_copy(uint64_t address, uint64_t& begin) {
  const auto after = copies_.upper_bound(address);
  if (after == copies_.begin()) return nullptr;
  const auto found = std::prev(after);
  begin = found->first;
  return address - begin < found->second.size_bytes ? &found->second : nullptr;
}

// The bytes of the host copy that differ from their content at the last sync.
void BufferChecks::mark_stale(uint64_t address) {
  uint64_t begin = 0;
  const HostCopy* const found = find_copy(address, begin);
  if (found == nullptr || found->host == nullptr) return;
  const HostCopy& copy = *found;
  std::vector<CopyPart> parts = {{0, copy.size_bytes, false}};
  if (copy.watched != nullptr) parts = take_changeable(*copy.watched);
  for (const CopyPart& part : parts) {
    if (part.is_closed) begin_use(copy.watched, part.offset, part.size_bytes);
    mark_stale(copy, begin, part.offset, part.size_bytes);
    if (part.is_closed) end_use(copy.watched, part.offset, part.size_bytes);
  }
}

void BufferChecks::mark_stale(const HostCopy& copy, uint64_t begin, uint64_t offset,
                              uint64_t size_bytes) {
  const std::byte* const host = copy.host + offset;
  const bool never_synced = copy.synced.empty();
  const std::byte* const synced = copy.synced.data() + offset;
  if (!never_synced && std::memcmp(host, synced, size_bytes) == 0) return;
  uint8_t* const states = states_.states() + begin + offset;
  bool any = false;
  for (uint64_t byte = 0; byte < size_bytes; ++byte) {
    if (host[byte] == (never_synced ? std::byte{0} : synced[byte])) continue;
    any = any || (states[byte] & kStateStale) == 0;
    states[byte] |= kStateStale;
  }
  if (any) states_.note_change(begin + offset, size_bytes);
}

// The host copies of buffers that the command wrote are now stale.
void BufferChecks::close_results(const Started& command) {
  for (const Use& use : command.uses) {
    uint64_t begin = 0;
    HostCopy* const copy = find_copy(use.address, begin);
    if (copy == nullptr || !states_.any_unseen(begin, copy->size_bytes)) continue;
    if (!use.is_read_only && !use.held_results) {
      written_arguments_.emplace(command.kernel, use.argument);
    }
    if (copy->watched == nullptr) continue;
    copy->kernel = command.kernel;
    copy->argument = use.argument;
    close_unseen(copy->watched);
  }
}

void BufferChecks::finished() {
  report_early_syncs();
  if (!card_.has(kCheckSync)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(running_, [this](uint64_t packet) {
    const uint32_t state = card_.packet_state(packet);
    if (state < ERT_CMD_STATE_COMPLETED) return false;
    if (state == ERT_CMD_STATE_COMPLETED) close_results(started_[packet]);
    return true;
  });
}

void BufferChecks::report_read(const EarlyRead& read) {
  auto& self = *static_cast<BufferChecks*>(const_cast<void*>(read.owner));
  HostFinding finding;
  finding.kind = "missing_sync_from_device";
  {
    const std::lock_guard<std::mutex> lock(self.mutex_);
    const auto found = self.copies_.find(read.copy);
    if (found != self.copies_.end()) {
      finding.kernel = found->second.kernel;
      finding.argument = found->second.argument;
    }
  }
  finding.message =
      "the program reads bytes that a kernel wrote, before a sync from the device, so it gets the "
      "old ones: call sync(XCL_BO_SYNC_BO_FROM_DEVICE) after the run and before the read";
  finding.address = read.copy + read.offset;
  const auto end = std::find(read.frames.begin(), read.frames.end(), nullptr);
  report_host_finding(self.card_, self.states_, finding,
                      program_place(std::vector<const void*>(read.frames.begin(), end)));
}

void BufferChecks::starting(const Program& program, const std::vector<uint32_t>& units,
                            uint64_t packet_offset, const uint32_t* registers, uint64_t num_words) {
  const std::string& kernel = program.units[units.front()].kernel;
  const auto known = program.arguments.find(kernel);
  if (known == program.arguments.end()) return;
  report_early_syncs();
  Started command{kernel, {}, units};
  const std::set<size_t> wrong = check_arguments(program, units.front(), packet_offset);
  command.uses = used_buffers(program, units, wrong, registers, num_words);
  command.has_streams =
      std::any_of(known->second.begin(), known->second.end(),
                  [](const KernelArgument& argument) { return argument.kind == kStreamKind; });
  backtrace(const_cast<void**>(command.frames.data()), kStartFrames);
  report_reads();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Use& use : command.uses) {
    // What this run writes is not what an earlier one wrote after a sync.
    std::erase_if(early_syncs_, [&use](const EarlySync& sync) {
      return use.address >= sync.address && use.address - sync.address < sync.size_bytes;
    });
    if (!use.is_read_only) use.held_results = !results_.insert(use.address).second;
    if (card_.has(kCheckSync)) mark_stale(use.address);
  }
  if (card_.has(kCheckSync)) running_.push_back(packet_offset);
  command.order = ++num_started_;
  command.is_waited_for =
      !run_arguments_.knows(packet_offset) || told_later_.contains(packet_offset);
  started_[packet_offset] = std::move(command);
}

// The buffers that the register map names; those of `wrong` arguments are not checked.
std::vector<BufferChecks::Use> BufferChecks::used_buffers(const Program& program,
                                                          const std::vector<uint32_t>& units,
                                                          const std::set<size_t>& wrong,
                                                          const uint32_t* registers,
                                                          uint64_t num_words) {
  const auto& arguments = program.arguments.at(program.units[units.front()].kernel);
  std::vector<Use> uses;
  for (size_t index = 0; index < arguments.size(); ++index) {
    const KernelArgument& argument = arguments[index];
    const uint64_t word = argument.offset / 4;
    if (argument.kind != kGlobalKind || argument.offset == 0 || word + 2 > num_words) continue;
    uint64_t address = 0;
    std::memcpy(&address, registers + word, sizeof(address));
    if (!wrong.contains(index)) check_pointer(program, units, index, address);
    uses.push_back({argument.name, address, argument.is_read_only});
  }
  return uses;
}

void BufferChecks::report(const char* kind, const std::string& kernel, const std::string& unit,
                          const std::string& argument, const std::string& message) {
  report_host_finding(card_, states_, {kind, kernel, unit, argument, message}, caller_place());
}

}  // namespace tandem::emulation
