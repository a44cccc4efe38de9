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
#include "emulation/xrt_shim/checks/untouched_memory.h"
#include "emulation/xrt_shim/opencl/opencl_events.h"

namespace tandem::emulation {
namespace {

std::atomic<int> num_checks{0};

// As the runtime guard knows; false without it. A program that loads the guard late, as Python
// does, has its functions in no common order of symbols, so it is asked by its name.
bool owns_its_pages(const void* host, uint64_t size_bytes) {
  static auto* const function = [] {
    void* const guard = dlopen("libxrt_coreutil.so.2", RTLD_LAZY | RTLD_NOLOAD);
    void* const from = guard == nullptr ? RTLD_DEFAULT : guard;
    return reinterpret_cast<bool (*)(const void*, size_t)>(dlsym(from, "tandem_owns_pages"));
  }();
  return function != nullptr && function(host, size_bytes);
}

}  // namespace

BufferChecks::BufferChecks(Card& card, const MemoryStates& states) : card_(card), states_(states) {
  num_checks.fetch_add(1);
  watch_end();
  // Other applications of a shared card wait for their runs without a word to this one.
  if (card_.has(kCheckRace) && card_.is_own()) {
    ordered_card_ = RunOrder::instance().open_card(card_.client_state(), card_.shared());
  }
  if (!card_.has(kCheckSync)) return;
  static std::once_flag once;
  std::call_once(once, [] {
    set_read_reporter(&BufferChecks::report_read);
    std::atexit(report_reads);
  });
}

BufferChecks::~BufferChecks() {
  ending();
  RunOrder::instance().close_card(ordered_card_);
  num_checks.fetch_sub(1);
  report_reads();
}

bool BufferChecks::any() { return num_checks.load(std::memory_order_relaxed) != 0; }

void BufferChecks::made(uint64_t address, uint64_t size_bytes, uint32_t group, bool mirrored) {
  states_.make_buffer(address, size_bytes, group, !mirrored, caller_place());
  const std::lock_guard<std::mutex> lock(mutex_);
  copies_.erase(address);
  visible_.erase(address);
  if (!mirrored) visible_[address] = size_bytes;
  results_.erase(results_.lower_bound(address), results_.lower_bound(address + size_bytes));
  if (mirrored && card_.has(kCheckSync)) copies_[address].size_bytes = size_bytes;
}

void BufferChecks::freed(uint64_t address, uint64_t size_bytes) {
  std::vector<std::pair<std::string, std::string>> users;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    copies_.erase(address);
    for (const auto& [packet, command] : started_) {
      const bool runs = card_.packet_state(packet) == ERT_CMD_STATE_RUNNING;
      for (const Use& use : command.uses) {
        if (use.address < address || use.address - address >= size_bytes) continue;
        if (runs && !command.is_told) users.emplace_back(command.kernel, use.argument);
        // A later buffer there has nothing to do with this run.
        RunOrder::instance().show(ordered_card_, packet);
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
  copy.owns_pages = owns_pages;
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
  if (found == copies_.end()) return;
  HostCopy& copy = found->second;
  // libxilinxopencl sends the buffers of a kernel also if nobody wrote to them. The copy itself is
  // the first to read the pages, and what is read looks like what is written.
  copy.is_untouched = opencl_in_use() && copy.owns_pages && copy.synced.empty() &&
                      is_untouched(copy.host, copy.size_bytes);
  begin_use(copy.watched, address - buffer, size_bytes);
}

void BufferChecks::synced(uint64_t buffer, uint64_t address, uint64_t size_bytes, bool to_device) {
  const bool had_unseen = end_sync(buffer, address, size_bytes, to_device);
  if (!to_device) note_early_sync(address, size_bytes, had_unseen);
  report_early_syncs();
}

// Whether a kernel wrote some of the bytes.
bool BufferChecks::end_sync(uint64_t buffer, uint64_t address, uint64_t size_bytes,
                            bool to_device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  results_.erase(results_.lower_bound(address), results_.lower_bound(address + size_bytes));
  const auto copy = copies_.find(buffer);
  const bool has_values = copy == copies_.end() || !copy->second.is_untouched;
  const uint8_t on = to_device && has_values ? kStateLive | kStateWritten : 0;
  const uint8_t had = states_.change(address, size_bytes, on, kStateStale | kStateUnseen);
  end_host_use(buffer, address, size_bytes);
  return (had & kStateUnseen) != 0;
}

void BufferChecks::end_host_use(uint64_t buffer, uint64_t address, uint64_t size_bytes) {
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

void BufferChecks::copied(uint64_t to, uint64_t from, uint64_t size_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (card_.has(kCheckSync)) {
    mark_stale(from);
    mark_stale(to);  // what the host changed there before the copy is no later change
  }
  states_.copy(to, from, size_bytes);
  uint64_t begin = 0;
  const HostCopy* const copy = find_copy(to, begin);
  if (copy != nullptr) close_unseen(copy->watched);
}

BufferChecks::HostCopy* BufferChecks::find_copy(uint64_t address, uint64_t& begin) {
  const auto after = copies_.upper_bound(address);
  if (after == copies_.begin()) return nullptr;
  const auto found = std::prev(after);
  begin = found->first;
  return address - begin < found->second.size_bytes ? &found->second : nullptr;
}

// The bytes of the host copy that changed since the last sync or the last call. Each change counts
// once, so a kernel or a copy that writes them on the card later makes them up to date.
void BufferChecks::mark_stale(uint64_t address) {
  uint64_t begin = 0;
  HostCopy* const found = find_copy(address, begin);
  if (found == nullptr || found->host == nullptr) return;
  HostCopy& copy = *found;
  std::vector<CopyPart> parts = {{0, copy.size_bytes, false}};
  if (copy.watched != nullptr) parts = take_changeable(*copy.watched);
  for (const CopyPart& part : parts) {
    if (part.is_closed) begin_use(copy.watched, part.offset, part.size_bytes);
    mark_stale(copy, begin, part.offset, part.size_bytes);
    if (part.is_closed) end_use(copy.watched, part.offset, part.size_bytes);
  }
}

void BufferChecks::mark_stale(HostCopy& copy, uint64_t begin, uint64_t offset,
                              uint64_t size_bytes) {
  const std::byte* const host = copy.host + offset;
  if (copy.synced.empty()) {
    if (std::all_of(host, host + size_bytes, [](std::byte byte) { return byte == std::byte{0}; })) {
      return;
    }
    copy.synced.resize(copy.size_bytes);
  }
  std::byte* const synced = copy.synced.data() + offset;
  if (std::memcmp(host, synced, size_bytes) == 0) return;
  uint8_t* const states = states_.states() + begin + offset;
  bool any = false;
  for (uint64_t byte = 0; byte < size_bytes; ++byte) {
    if (host[byte] == synced[byte]) continue;
    any = any || (states[byte] & kStateStale) == 0;
    states[byte] |= kStateStale;
    synced[byte] = host[byte];
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
  reader_starts(units);
  Started command{kernel, {}, units};
  command.uses = used_buffers({program, units, packet_offset}, registers, num_words);
  command.has_streams =
      std::any_of(known->second.begin(), known->second.end(),
                  [](const KernelArgument& argument) { return argument.kind == kStreamArgument; });
  command.is_alone = program.units.size() == 1;
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

// The buffers that the register map names; those of wrong arguments are not checked further.
std::vector<BufferChecks::Use> BufferChecks::used_buffers(const Command& command,
                                                          const uint32_t* registers,
                                                          uint64_t num_words) {
  const Program& program = command.program;
  const auto& arguments = program.arguments.at(program.units[command.units.front()].kernel);
  const std::set<size_t> wrong = check_arguments(program, command.units.front(), command.packet);
  std::vector<Use> uses;
  for (size_t index = 0; index < arguments.size(); ++index) {
    const KernelArgument& argument = arguments[index];
    const uint64_t word = argument.offset / 4;
    if (argument.kind != kPointerArgument || argument.offset == 0 || word + 2 > num_words) continue;
    uint64_t address = 0;
    std::memcpy(&address, registers + word, sizeof(address));
    if (!wrong.contains(index)) check_pointer(command, index, address);
    uses.push_back({argument.name, address, argument.is_read_only});
  }
  return uses;
}

void BufferChecks::report(const char* kind, const std::string& kernel, const std::string& unit,
                          const std::string& argument, const std::string& message) {
  report_host_finding(card_, states_, {kind, kernel, unit, argument, message}, caller_place());
}

}  // namespace tandem::emulation
