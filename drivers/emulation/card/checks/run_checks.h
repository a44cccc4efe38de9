// SPDX-License-Identifier: Apache-2.0
//
// The checks of one unit's runs: what its kernel's loads, stores, indices and divisions show.
//
// The functions that a checked kernel calls (kernel_calls.cpp) find the unit's object by its
// thread. A finding is reported at once, since the kernel may crash next, and once per place. Cost:
// about a nanosecond per access that is right. Threads: the unit's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "emulation/card/memory/card_areas.h"
#include "emulation/card/units/thread_end.h"
#include "emulation/protocol/finding.h"

namespace tandem::emulation {

// A pointer among the arguments of a call, as a device address.
struct PointerArgument {
  std::string name;
  uint64_t address = 0;
};

class RunChecks {
 public:
  struct Unit {
    uint32_t index = 0;
    bool linked = false;  // streams join it to other units
    CodeRange code;
    std::function<void(Finding)> report;
    // The same for the unit `index` of the bitstream: its name, and where its code is.
    std::function<std::pair<std::string, CodeRange>(uint32_t)> other;
  };
  RunChecks(const CardAreas& areas, Unit unit) : areas_(areas), unit_(std::move(unit)) {}

  // The checks of the calling thread; null outside of calls of checked kernels.
  static RunChecks* current();
  void begin_call(std::vector<PointerArgument> pointers);
  void end_call();
  // Whether a call since begin_command() showed a bug, also one that was reported before.
  void begin_command() { any_found_ = false; }
  bool any_found() const { return any_found_; }

  // `from`: the return address in the kernel.
  void load(uint64_t address, uint64_t size_bytes, const void* from);
  void store(uint64_t address, uint64_t size_bytes, const void* from);
  void misaligned(uint64_t address, uint64_t alignment, const char* type, const void* from);
  void index(const char* file, int line, const std::string& type, int64_t index, const void* from);
  void division(const char* file, int line, const void* from);

 private:
  struct Problem {
    const char* kind;
    bool is_error;
    std::string message;
    uint64_t address = 0;  // of device memory; ~0: none
    std::string file;      // where it is known without debug information
    int line = 0;
  };
  void check_device_load(uint64_t address, uint64_t size_bytes, const void* from);
  void check_old_bytes(uint64_t address, uint64_t size_bytes, const void* from);
  void check_device_store(uint64_t address, uint64_t size_bytes, const void* from);
  void check_race(uint64_t address, uint64_t size_bytes, bool writes, const void* from);
  void report_outside(uint64_t address, uint64_t size_bytes, bool writes, const void* from);
  void report_local(uint64_t address, uint64_t size_bytes, bool writes, const void* from);
  // Kind (a literal), code, buffer's address.
  using Place = std::tuple<std::string_view, const void*, uint64_t>;
  Place place_at(const char* kind, const void* from, uint64_t device_address) const;
  bool is_known(const char* kind, const void* from, uint64_t device_address) const;
  bool is_new(const char* kind, const void* from, uint64_t device_address);
  bool holds_stale_bytes(uint64_t address) const;
  void report(const Problem& problem, const void* from);
  void add_buffer(Finding& finding, uint64_t address) const;
  std::string argument_of(uint64_t address) const;

  const CardAreas& areas_;
  const Unit unit_;
  std::vector<PointerArgument> pointers_;
  std::map<Place, bool> seen_;  // whether it was a finding
  bool any_found_ = false;
};

}  // namespace tandem::emulation
