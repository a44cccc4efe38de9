// SPDX-License-Identifier: Apache-2.0
//
// The part of RunChecks that is about units that run at the same time.
#include "emulation/card/checks/run_checks.h"
#include "emulation/protocol/code_place.h"

namespace tandem::emulation {
namespace {

std::string with_place(const std::string& text, const SourcePlace& place) {
  return place.line == 0 ? text : text + " at " + place.file + ":" + std::to_string(place.line);
}

}  // namespace

// The kernel's own code must skip no access to device memory.
void RunChecks::begin_races() {
  areas_.shadow->close();
  areas_.races->begin_run(unit_.index);
  for (const PointerArgument& pointer : pointers_) {
    if (pointer.address < device_bytes_) areas_.races->prepare(pointer.address);
  }
}

void RunChecks::check_race(uint64_t address, uint64_t size_bytes, bool writes, const void* from) {
  if (!watches_races_) return;
  const auto conflict =
      areas_.races->touch(unit_.index, address, size_bytes, writes, code_offset(from));
  if (!conflict) return;
  ToldAccess& known = told_access(raced_accesses_, from);
  if (known.has(from, address)) {
    any_found_ = true;
    return;
  }
  const BufferRecord* const buffer = areas_.states.find(address);
  if (buffer != nullptr) known = {from, buffer->address, buffer->size_bytes};
  if (!is_new("race", from, address)) return;
  const auto [name, code] = unit_.other(conflict->unit);
  const auto* const there = reinterpret_cast<const void*>(code.begin + conflict->code_offset);
  report({"race", true,
          std::string("the kernel ") + (writes ? "writes" : "reads") + " bytes that " +
              with_place("unit '" + name + "' " + (conflict->wrote ? "writes" : "reads"),
                         place_of(code_place({there}))) +
              " in the same time, without an order: wait for one run before the other starts, or "
              "give each unit bytes of its own",
          address, "", 0},
         from);
}

}  // namespace tandem::emulation
