// SPDX-License-Identifier: Apache-2.0
//
// Instructions of functions that were inlined into the loop belong to those.
#include "bitstreams/compiler/timing/loop_places.h"

#include <algorithm>
#include <array>

#include "bitstreams/compiler/timing/operators.h"

namespace tandem::timing {
namespace {

// The function that the loop's first instruction with a place belongs to; -1: none has one.
int owner_of_loop(const IrModule& module, const IrFunction& function, const IrLoop& loop) {
  for (const IrInstruction& each : function.blocks[static_cast<size_t>(loop.header)].instructions) {
    const auto owner = module.owners.find(each.location);
    if (owner != module.owners.end() && module.places.at(each.location).line > 0) {
      return owner->second;
    }
  }
  return -1;
}

// A constructor or destructor of a stream.
bool makes_stream(const std::string& callee) {
  return callee.starts_with("_ZN3hls6stream") &&
         std::ranges::any_of(
             std::array{"EC1E", "EC2E", "ED1E", "ED2E"},
             [&callee](const char* each) { return callee.find(each) != std::string::npos; });
}

}  // namespace

bool only_makes_streams(const IrFunction& function, const IrLoop& loop) {
  bool makes = false;
  for (size_t block = 0; block < function.blocks.size(); ++block) {
    if (!loop.blocks[block]) continue;
    for (const IrInstruction& each : function.blocks[block].instructions) {
      if (!is_call(each)) continue;
      if (library_function(each.callee) != Library::kIgnored) return false;
      makes = makes || makes_stream(each.callee);
    }
  }
  return makes;
}

LoopPlace loop_place(const IrModule& module, const IrFunction& function, const IrLoop& loop) {
  for (const int latch : loop.latches) {
    const auto found = module.loop_ends.find(function.blocks[static_cast<size_t>(latch)].loop);
    if (found != module.loop_ends.end()) return {found->second.first, found->second.second.line};
  }
  const int owner = owner_of_loop(module, function, loop);
  LoopPlace place;
  for (size_t block = 0; block < function.blocks.size(); ++block) {
    if (owner < 0 || !loop.blocks[block]) continue;
    for (const IrInstruction& each : function.blocks[block].instructions) {
      const auto own = module.owners.find(each.location);
      if (own == module.owners.end() || own->second != owner) continue;
      const SourceLine& at = module.places.at(each.location);
      if (at.line == 0) continue;
      if (place.first.line == 0 || at.line < place.first.line) place.first = at;
      place.last = std::max(place.last, at.line);
    }
  }
  return place;
}

}  // namespace tandem::timing
