// SPDX-License-Identifier: Apache-2.0
//
// The part of RunChecks that is about units whose runs have no order.
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
  call_ = areas_.races->begin_run(unit_.index, order_);
  for (const PointerArgument& pointer : pointers_) {
    if (pointer.address < device_bytes_) areas_.races->prepare(pointer.address);
  }
}

void RunChecks::end_races() {
  for (const RaceAhead& race : races_ahead_) report_race(race);
  races_ahead_.clear();
  areas_.races->end_run(unit_.index);
}

void RunChecks::check_race(uint64_t address, uint64_t size_bytes, bool writes, const void* from) {
  if (!watches_races_) return;
  const auto conflict =
      areas_.races->touch(unit_.index, address, size_bytes, writes, code_offset(from));
  if (!conflict) return;
  const BufferRecord* const buffer = areas_.states.find(address);
  std::erase_if(races_ahead_, [&](const RaceAhead& race) {
    return race.writes == writes && areas_.states.find(race.address) == buffer;
  });
  ToldAccess& known = told_access(raced_accesses_, from);
  if (known.has(from, address)) {
    any_found_ = true;
    return;
  }
  if (buffer != nullptr) known = {from, buffer->address, buffer->size_bytes};
  report_race({address, writes, from, *conflict});
}

// One of the two units tells it.
void RunChecks::report_race(const RaceAhead& race) {
  if (!is_new("race", race.from, race.address)) return;
  const Conflict& conflict = race.conflict;
  const BufferRecord* const buffer = areas_.states.find(race.address);
  any_found_ = true;
  unit_.raced(conflict.unit, conflict.call);
  unit_.raced(unit_.index, call_);
  const uint64_t number = buffer == nullptr ? 0 : buffer->number;
  if (!areas_.races->is_first(unit_.index, conflict.unit, number)) return;
  const auto [name, code] = unit_.other(conflict.unit);
  const auto* const there = reinterpret_cast<const void*>(code.begin + conflict.code_offset);
  const char* const others =
      conflict.runs ? (conflict.wrote ? "writes" : "reads") : (conflict.wrote ? "wrote" : "read");
  const std::string when =
      conflict.runs
          ? " in the same time, without an order"
          : " in a run without an order to this one: the program waited for neither before "
            "it started the other, so on hardware both may run at the same time";
  const char* const moved = conflict.unit == unit_.index ? ", in different units" : "";
  report(
      {"race", true,
       std::string("the kernel ") + (race.writes ? "writes" : "reads") + " bytes that " +
           with_place("unit '" + name + "' " + others, place_of(code_place({there}))) + when +
           moved + "; wait for one run before the other starts, or give each unit bytes of its own",
       race.address, "", 0},
      race.from);
}

}  // namespace tandem::emulation
