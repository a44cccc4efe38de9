// SPDX-License-Identifier: Apache-2.0
//
// Correct accesses take the fast paths of load() and store(); all others are classified afterwards.
// Bytes that were never written are a finding only if all bytes of an access are such bytes. So
// paddings and the ends of wide words are not findings.
#include "emulation/card/checks/run_checks.h"

#include <execinfo.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "emulation/card/checks/local_memory.h"
#include "emulation/protocol/buffer_finding.h"
#include "emulation/protocol/checks.h"
#include "emulation/protocol/code_place.h"

namespace tandem::emulation {
namespace {

constexpr int kMostFrames = 24;

uint64_t low_bytes(uint64_t count) {
  return count >= 8 ? ~uint64_t{0} : (uint64_t{1} << count * 8) - 1;
}

// Whether the states of all bytes, masked, are `wanted`.
bool all_states(const uint8_t* states, uint64_t count, uint64_t mask, uint64_t wanted) {
  for (; count != 0;) {
    const uint64_t step = std::min<uint64_t>(count, 8);
    uint64_t word = 0;
    std::memcpy(&word, states, 8);  // the area has bytes to spare
    if (((word & mask) ^ wanted) & low_bytes(step)) return false;
    states += step;
    count -= step;
  }
  return true;
}

std::string bytes_text(uint64_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

std::string hexadecimal(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

// Clears the marks of frames that were unwound.
void forget_below(uint64_t frame) {
  constexpr uint64_t kUsual = 64 << 20;
  forget(frame - kUsual, frame);
}

}  // namespace

// A thread before this one may have left marks at the addresses of its stack. The first pages of
// the maps are then there before a kernel runs.
void RunChecks::begin_thread(const void* registers) {
  constexpr uint64_t kFirstBytes = 256 << 10;
  constexpr uint64_t kPageBytes = 4096 * 8;
  const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  forget_below(frame);
  forget(reinterpret_cast<uint64_t>(registers), reinterpret_cast<uint64_t>(registers) + 1);
  for (uint64_t at = frame - kFirstBytes; at <= frame; at += kPageBytes) forget(at, at + 1);
  areas_.states.find(0);
  refresh_buffers();
}

void RunChecks::begin_call(std::vector<PointerArgument> pointers) {
  pointers_ = std::move(pointers);
  loops_.clear();
  announced_ = {};
  taken_ = {};
  refresh_buffers();
  freed_accesses_ = raced_accesses_ = {};
  if (left_frames_) forget_below(reinterpret_cast<uint64_t>(__builtin_frame_address(0)));
  left_frames_ = true;
  // A unit that is alone, or that streams link, has an order with all others.
  watches_races_ = areas_.races != nullptr && !unit_.linked && unit_.num_units() > 1;
  watch(false);
  if (watches_races_) begin_races();
  current_ = this;
}

void RunChecks::end_call(bool has_returned) {
  store_announced();
  group_.end_group();
  left_frames_ = !has_returned;
  if (watches_races_) end_races();
  current_ = nullptr;
}

void RunChecks::check_load(uint64_t address, uint64_t size_bytes, const void* from) {
  const uint64_t device = address - device_;
  if (device < device_bytes_) {
    check_device_load(device, size_bytes, from);
    return;
  }
  if (!is_mappable(address)) return;  // the access itself then faults
  const bool inside =
      size_bytes <= 8 ? may_touch(address, size_bytes) : may_touch_bytes(address, size_bytes);
  if (!inside) {
    report_local(address, size_bytes, false, from);
    return;
  }
  if (is_unset(address, size_bytes)) used(origin_of(address, from));
}

void RunChecks::check_store(uint64_t address, uint64_t size_bytes, const void* from) {
  const uint64_t device = address - device_;
  if (device < device_bytes_) {
    check_device_store(device, size_bytes, from);
    return;
  }
  if (!is_mappable(address)) return;
  const bool inside =
      size_bytes <= 8 ? may_touch(address, size_bytes) : may_touch_bytes(address, size_bytes);
  if (!inside) {
    report_local(address, size_bytes, true, from);
    set_written_bytes(address, accessible_bytes(address, size_bytes));
    return;
  }
  set_written(address, size_bytes);
}

void RunChecks::watched_load(uint64_t address, uint64_t size_bytes, const void* from) {
  if (loops_.active()) watch_loops(address, size_bytes, false, from);
  if (!is_plain_load(address, size_bytes, from)) check_load(address, size_bytes, from);
  if (address == announced_.address) store_announced();
}

void RunChecks::watched_store(uint64_t address, uint64_t size_bytes, const void* from) {
  if (address == announced_.address) {
    announced_ = {};
    watch(loops_.active());
  }
  if (loops_.active()) watch_loops(address, size_bytes, true, from);
  if (!is_plain_store(address, size_bytes, from)) check_store(address, size_bytes, from);
}

void RunChecks::store_announced() {
  const uint64_t address = announced_.address;
  const uint64_t size_bytes = announced_.size_bytes;
  const void* const from = announced_.from;
  if (size_bytes == 0) return;
  announced_.address = announced_.size_bytes = 0;
  watch(loops_.active());
  const uint64_t device = address - device_;
  if (device >= device_bytes_) {
    const bool inside =
        address < kAddressEnd &&
        (size_bytes <= 8 ? may_touch(address, size_bytes) : may_touch_bytes(address, size_bytes));
    if (inside) set_written(address, size_bytes);
  } else if (areas_.states.covers(device, size_bytes) &&
             all_states(areas_.states.states() + device, size_bytes, kAllLive, kAllLive)) {
    check_device_store(device, size_bytes, from);
  }
  if (loops_.active()) watch_loops(address, size_bytes, true, from);
}

void RunChecks::check_device_load(uint64_t address, uint64_t size_bytes, const void* from) {
  const uint8_t* const states = areas_.states.states() + address;
  if (!areas_.states.covers(address, size_bytes) ||
      !all_states(states, size_bytes, kReadMask, kReadable)) {
    if (!areas_.states.covers(address, size_bytes) ||
        !all_states(states, size_bytes, kAllLive, kAllLive)) {
      report_outside(address, size_bytes, false, from);
      return;
    }
    check_old_bytes(address, size_bytes, from);
  }
  check_race(address, size_bytes, false, from);
}

// If bytes were never written, the whole buffer is examined once per place.
void RunChecks::check_old_bytes(uint64_t address, uint64_t size_bytes, const void* from) {
  const bool unwritten = !areas_.states.any(address, size_bytes, kStateWritten);
  bool stale = areas_.states.any(address, size_bytes, kStateStale);
  if (!stale && !unwritten) return;
  if (!stale && (is_known("missing_sync_to_device", from, address) ||
                 is_known("uninitialised_memory", from, address))) {
    any_found_ = true;
    return;
  }
  stale = stale || holds_stale_bytes(address);
  if (stale && is_new("missing_sync_to_device", from, address)) {
    report({"missing_sync_to_device", true,
            "the kernel reads bytes that the host changed after their last sync to the device, "
            "so it gets the old ones: call sync(XCL_BO_SYNC_BO_TO_DEVICE) after the change",
            address, "", 0},
           from);
  } else if (!stale && is_new("uninitialised_memory", from, address)) {
    report({"uninitialised_memory", false,
            "the kernel reads " + bytes_text(size_bytes) +
                " that neither the host nor a kernel wrote; a card has any values there: write "
                "the whole buffer, or read only what was written",
            address, "", 0},
           from);
  }
}

void RunChecks::check_device_store(uint64_t address, uint64_t size_bytes, const void* from) {
  uint8_t* const states = areas_.states.states() + address;
  if (!areas_.states.covers(address, size_bytes) ||
      !all_states(states, size_bytes, kAllLive, kAllLive)) {
    report_outside(address, size_bytes, true, from);
    return;
  }
  std::memset(states, kStoredState, size_bytes);
  areas_.shadow->stored(address, size_bytes);
  check_race(address, size_bytes, true, from);
}

void RunChecks::report_outside(uint64_t address, uint64_t size_bytes, bool writes,
                               const void* from) {
  const bool freed =
      areas_.states.covers(address, 1) && (areas_.states.states()[address] & kStateFreed) != 0;
  ToldAccess& known = told_access(freed_accesses_, from);
  if (freed && known.has(from, address)) {
    any_found_ = true;
    return;
  }
  const BufferRecord* const buffer = areas_.states.find(address);
  if (freed && buffer != nullptr) known = {from, buffer->address, buffer->size_bytes};
  const char* const kind = freed ? "use_after_free" : "out_of_bounds";
  if (!is_new(kind, from, address)) return;
  std::string message = std::string("the kernel ") + (writes ? "writes " : "reads ") +
                        bytes_text(size_bytes) + " at device address " + hexadecimal(address);
  if (freed) {
    message += ", in a buffer that was freed: keep the buffer until the run has ended";
  } else if (buffer == nullptr) {
    message += ", which is in no buffer: pass the buffer to the kernel";
  } else if (address < buffer->address) {
    message += ", " + bytes_text(buffer->address - address) +
               " before the beginning of a buffer of " + bytes_text(buffer->size_bytes) +
               ": check the index, it may be negative";
  } else {
    const uint64_t offset = address - buffer->address;
    const bool starts_inside = offset < buffer->size_bytes;
    message += starts_inside ? ", across the end" : ", ";
    if (!starts_inside) message += bytes_text(offset - buffer->size_bytes) + " beyond the end";
    message += " of a buffer of " + bytes_text(buffer->size_bytes) +
               ": make the buffer larger or the kernel's count smaller";
  }
  report({kind, true, message, address, "", 0}, from);
}

void RunChecks::report_local(uint64_t address, uint64_t size_bytes, bool writes, const void* from) {
  if (!is_new("local_out_of_bounds", from, kNoDeviceAddress)) return;
  const int8_t bound = bounds_of(address);
  const bool over = bound == kOutOfScope;
  report({"local_out_of_bounds", true,
          std::string("the kernel ") + (writes ? "writes " : "reads ") + bytes_text(size_bytes) +
              (over ? " of a variable whose scope has ended: keep the variable as long as its "
                      "pointer is used"
                    : " beyond the end of a local array: check the index, or make the array "
                      "larger"),
          kNoDeviceAddress, "", 0},
         from);
}

void RunChecks::misaligned(uint64_t address, uint64_t alignment, const char* type,
                           const void* from) {
  const uint64_t device = address - reinterpret_cast<uint64_t>(areas_.device.data());
  const bool global = device < areas_.device.size_bytes();
  if (!is_new("misaligned", from, global ? device : kNoDeviceAddress)) return;
  report({"misaligned", true,
          "the kernel uses the " + std::string(global ? "device address " : "address ") +
              hexadecimal(global ? device : address) + " as " + type +
              ", which needs a multiple of " + std::to_string(alignment) +
              "; hardware reads other bytes there: begin at such a multiple, or copy the bytes "
              "one by one",
          global ? device : kNoDeviceAddress, "", 0},
         from);
}

void RunChecks::index(const char* file, int line, const std::string& type, int64_t index,
                      const void* from) {
  if (!is_new("local_out_of_bounds", from, kNoDeviceAddress)) return;
  report({"local_out_of_bounds", true,
          "the index " + std::to_string(index) + " is outside of an array of type " + type +
              ": check the index, or make the array larger",
          kNoDeviceAddress, file, line},
         from);
}

void RunChecks::division(const char* file, int line, const void* from) {
  if (!is_new("division_by_zero", from, kNoDeviceAddress)) return;
  report({"division_by_zero", true,
          "the kernel divides by zero; hardware continues with any value: check the divisor",
          kNoDeviceAddress, file, line},
         from);
}

void RunChecks::misused(const char* kind, const char* what, const void* from) {
  report({kind, true, what, kNoDeviceAddress, "", 0}, from);
}

void RunChecks::faulted(uint64_t address, bool is_known, const void* at) {
  const uint64_t device = address - device_;
  const bool is_null = address < kFirstAddress;
  std::string message = "the kernel accesses ";
  if (is_null && is_known) {
    message += "a null pointer: pass a buffer for each pointer";
  } else {
    if (is_known) message += "device address " + hexadecimal(device) + ", ";
    message += std::string(is_known ? "" : "an address ") +
               "outside of device memory and of its own variables: check the index (one that is "
               "negative as an unsigned number becomes a large one)";
  }
  report({"out_of_bounds", true, message, kNoDeviceAddress, "", 0}, at);
}

// The nearest line of the user's: the access may be in a header, in a function of its own.
void RunChecks::report(const Problem& problem, const void* from) {
  any_found_ = true;
  Finding finding;
  finding.kind = problem.kind;
  finding.severity = problem.is_error ? "error" : "warning";
  finding.message = problem.message;
  finding.more = problem.more;
  std::vector<const void*> stack;
  if (from != nullptr) stack.push_back(from);
  void* frames[kMostFrames];
  // The code of an RTL kernel's port is not the user's.
  const int count = port_ != nullptr ? 0 : backtrace(frames, kMostFrames);
  for (int index = 0; index < count; ++index) {
    const auto at = reinterpret_cast<uint64_t>(frames[index]);
    const bool in_kernel = at >= unit_.code.begin && at < unit_.code.end;
    if (in_kernel && frames[index] != from) stack.push_back(frames[index]);
  }
  SourcePlace place;
  if (port_ == nullptr && !problem.is_placed) place = place_of(code_place(stack));
  if (port_ != nullptr) name_port(finding);
  finding.file = place.line != 0 ? place.file : problem.file;
  finding.line = place.line != 0 ? place.line : problem.line;
  // The checks of an index, of its access and of the parts of a wide access tell the same.
  const uint64_t buffer = std::get<2>(place_at(problem.kind, from, problem.address));
  if (finding.line != 0) {
    if (is_run_into(finding, problem.address)) return;
    if (!told_lines_.emplace(finding.kind, finding.file, finding.line, buffer).second) return;
  }
  if (problem.address != kNoDeviceAddress) add_buffer(finding, problem.address);
  unit_.report(std::move(finding));
}

}  // namespace tandem::emulation
