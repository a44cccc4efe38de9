// SPDX-License-Identifier: Apache-2.0
//
// Inner loops come after the loops around them.
#include "bitstreams/compiler/timing/loop_pipelining.h"

#include <algorithm>
#include <cstdlib>

namespace tandem::timing {
namespace {

constexpr double kUnrolledTrips = 64;

// The innermost loop of the source that holds the pragma's line.
LoopModel* loop_at(std::vector<LoopModel>& loops, const SourceLine& at,
                   const std::map<int, int>& last_lines) {
  LoopModel* best = nullptr;
  int best_span = 0;
  for (LoopModel& loop : loops) {
    const auto found = last_lines.find(loop.header);
    const int last = found == last_lines.end() ? loop.line : found->second;
    const bool holds = at.line >= loop.line && at.line <= last;
    if (!holds || !in_same_file({loop.file, loop.line}, at)) continue;
    if (best != nullptr && last - loop.line > best_span) continue;
    best = &loop;
    best_span = last - loop.line;
  }
  return best;
}

// `callers`: loops that call functions with loops.
bool is_innermost(const std::vector<LoopModel>& loops, size_t index, const std::set<int>& callers) {
  if (callers.contains(static_cast<int>(index))) return false;
  return std::none_of(loops.begin(), loops.end(), [index](const LoopModel& each) {
    return each.parent == static_cast<int>(index);
  });
}

// All loops in it are innermost ones of few trips that no pragma names.
bool takes_inner_loops(const std::vector<LoopModel>& loops, size_t index,
                       const std::set<int>& callers) {
  const LoopModel& loop = loops[index];
  if (callers.contains(static_cast<int>(index)) || loop.perfect || !loop.pipeline.empty() ||
      loop.unroll != 1)
    return false;
  bool any = false;
  for (size_t each = 0; each < loops.size(); ++each) {
    const LoopModel& inner = loops[each];
    if (inner.parent != static_cast<int>(index)) continue;
    any = true;
    const bool few = inner.fixed_trips > 0 && inner.fixed_trips < kUnrolledTrips;
    if (!few || !is_innermost(loops, each, callers) || !inner.pipeline.empty() ||
        inner.unroll > 1) {
      return false;
    }
  }
  return any;
}

}  // namespace

void apply_pragmas(std::vector<LoopModel>& loops, const std::vector<LoopPragma>& pragmas,
                   const std::map<int, int>& last_lines, const std::set<int>& callers) {
  for (const LoopPragma& each : pragmas) {
    LoopModel* const loop = loop_at(loops, each.place, last_lines);
    if (loop == nullptr) continue;
    if (each.pipeline) {
      loop->pipeline = each.off ? "off" : "pragma";
      loop->wanted_ii = each.ii;
    } else if (!each.off) {
      loop->unroll = each.factor;
    }
  }
  for (size_t index = 0; index < loops.size(); ++index) {
    if (takes_inner_loops(loops, index, callers)) loops[index].pipeline = "auto";
  }
  for (size_t index = 0; index < loops.size(); ++index) {
    LoopModel& loop = loops[index];
    const bool is_inner = is_innermost(loops, index, callers);
    const bool is_taken = pipelined_around(loops, static_cast<int>(index)) >= 0;
    if (loop.pipeline.empty() && is_inner && !is_taken && loop.unroll != 0) loop.pipeline = "auto";
  }
}

void join_nests(std::vector<LoopModel>& loops, const std::set<int>& local) {
  for (const int index : local) {
    LoopModel& outer = loops[static_cast<size_t>(index)];
    LoopModel* only = nullptr;
    int inner = 0;
    for (LoopModel& each : loops) {
      if (each.parent != index) continue;
      only = &each;
      ++inner;
    }
    if (inner != 1 || is_pipelined(outer) || outer.pipeline == "off" || outer.unroll != 1) continue;
    if (!is_pipelined(*only) || only->fixed_trips <= 1 || only->unroll == 0) continue;
    outer.perfect = true;
    only->depth += outer.depth - 1;
  }
}

int pipelined_around(const std::vector<LoopModel>& loops, int loop) {
  int found = -1;
  for (; loop >= 0; loop = loops[static_cast<size_t>(loop)].parent) {
    if (is_pipelined(loops[static_cast<size_t>(loop)])) found = loop;
  }
  return found;
}

bool is_pipelined(const LoopModel& loop) {
  return loop.pipeline == "pragma" || loop.pipeline == "auto";
}

int flattened(const std::vector<LoopModel>& loops, int loop) {
  while (!is_pipelined(loops[static_cast<size_t>(loop)])) {
    const LoopModel& outer = loops[static_cast<size_t>(loop)];
    int only = -1;
    for (size_t each = 0; each < loops.size(); ++each) {
      if (loops[each].parent != loop) continue;
      if (only >= 0) return -1;
      only = static_cast<int>(each);
    }
    if (!outer.perfect || only < 0 || outer.unroll != 1) return -1;
    if (loops[static_cast<size_t>(only)].fixed_trips == 0) return -1;
    loop = only;
  }
  return loop;
}

double fixed_trips(const IrFunction& function, const IrLoop& loop, const Addresses& addresses) {
  for (size_t block = 0; block < function.blocks.size(); ++block) {
    const IrBlock& each = function.blocks[block];
    const bool leaves =
        loop.blocks[block] &&
        std::any_of(each.successors.begin(), each.successors.end(),
                    [&loop](int next) { return !loop.blocks[static_cast<size_t>(next)]; });
    if (!leaves || each.instructions.back().operands.empty()) continue;
    const IrInstruction* const test =
        addresses.definition(each.instructions.back().operands.front());
    if (test == nullptr || test->opcode != "icmp" || test->operands.size() != 1) continue;
    const size_t comma = test->text.find(", ");
    const LinearIndex tested = addresses.linear(test->operands[0]);
    if (comma == std::string::npos || tested.terms.size() != 1) continue;
    const auto& [index, factor] = *tested.terms.begin();
    const long step = factor * addresses.step_of(index);
    const IrInstruction* const phi = addresses.definition(index);
    if (step == 0 || addresses.block_of(index) != loop.header) continue;
    const size_t start_at = phi->text.find("[ ");
    for (size_t at = start_at; at != std::string::npos; at = phi->text.find("[ ", at + 1)) {
      const char first = phi->text[at + 2];
      if (first == '%' || first == '@') continue;
      const long start = std::atol(phi->text.c_str() + at + 2);
      const long bound = std::atol(test->text.c_str() + comma + 2);
      const long last = (bound - tested.constant - factor * start) / step;
      const bool first_is_tested =
          static_cast<int>(block) == loop.header &&
          std::find(loop.latches.begin(), loop.latches.end(), loop.header) == loop.latches.end();
      if (last >= 0) return static_cast<double>(last + (first_is_tested ? 0 : 1));
    }
  }
  return 0;
}

}  // namespace tandem::timing
