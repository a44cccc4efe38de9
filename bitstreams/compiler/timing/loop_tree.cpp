// SPDX-License-Identifier: Apache-2.0
//
// Dominators by iteration to a fixed point, then a walk back from each latch.
#include "bitstreams/compiler/timing/loop_tree.h"

#include <algorithm>
#include <functional>
#include <map>

namespace tandem::timing {
namespace {

using Blocks = std::vector<bool>;

std::vector<bool> reachable_blocks(const IrFunction& function) {
  Blocks seen(function.blocks.size());
  std::vector<int> open = {0};
  while (!open.empty()) {
    const auto block = static_cast<size_t>(open.back());
    open.pop_back();
    if (seen[block]) continue;
    seen[block] = true;
    for (const int next : function.blocks[block].successors) open.push_back(next);
  }
  return seen;
}

// [block]: the blocks that dominate it.
std::vector<Blocks> dominators(const IrFunction& function, const Blocks& reachable) {
  const size_t count = function.blocks.size();
  std::vector<Blocks> result(count, Blocks(count, true));
  result[0] = Blocks(count);
  result[0][0] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t block = 1; block < count; ++block) {
      if (!reachable[block]) continue;
      Blocks next(count, true);
      for (const int from : function.blocks[block].predecessors) {
        const auto before = static_cast<size_t>(from);
        if (!reachable[before]) continue;
        for (size_t each = 0; each < count; ++each) next[each] = next[each] && result[before][each];
      }
      next[block] = true;
      if (next == result[block]) continue;
      result[block] = std::move(next);
      changed = true;
    }
  }
  return result;
}

void add_body(const IrFunction& function, int latch, IrLoop& loop) {
  std::vector<int> open = {latch};
  loop.blocks[static_cast<size_t>(loop.header)] = true;
  while (!open.empty()) {
    const auto block = static_cast<size_t>(open.back());
    open.pop_back();
    if (loop.blocks[block]) continue;
    loop.blocks[block] = true;
    for (const int before : function.blocks[block].predecessors) open.push_back(before);
  }
}

size_t size_of(const IrLoop& loop) {
  return static_cast<size_t>(std::count(loop.blocks.begin(), loop.blocks.end(), true));
}

}  // namespace

std::vector<IrLoop> find_loops(const IrFunction& function) {
  if (function.blocks.empty()) return {};
  const Blocks reachable = reachable_blocks(function);
  const std::vector<Blocks> dominator = dominators(function, reachable);
  std::map<int, IrLoop> by_header;
  for (size_t block = 0; block < function.blocks.size(); ++block) {
    if (!reachable[block]) continue;
    for (const int header : function.blocks[block].successors) {
      if (!dominator[block][static_cast<size_t>(header)]) continue;
      IrLoop& loop = by_header[header];
      loop.header = header;
      loop.blocks.resize(function.blocks.size());
      loop.latches.push_back(static_cast<int>(block));
      add_body(function, static_cast<int>(block), loop);
    }
  }
  std::vector<IrLoop> loops;
  for (auto& [header, loop] : by_header) loops.push_back(std::move(loop));
  std::stable_sort(loops.begin(), loops.end(),
                   [](const IrLoop& a, const IrLoop& b) { return size_of(a) > size_of(b); });
  for (size_t inner = 0; inner < loops.size(); ++inner) {
    for (size_t outer = 0; outer < inner; ++outer) {
      if (!loops[outer].blocks[static_cast<size_t>(loops[inner].header)]) continue;
      loops[inner].parent = static_cast<int>(outer);  // the last one is the smallest
    }
  }
  return loops;
}

int innermost_loop(const std::vector<IrLoop>& loops, int block) {
  int found = -1;
  for (size_t index = 0; index < loops.size(); ++index) {
    if (loops[index].blocks[static_cast<size_t>(block)]) found = static_cast<int>(index);
  }
  return found;
}

std::vector<int> blocks_in_order(const IrFunction& function) {
  Blocks seen(function.blocks.size());
  std::vector<int> order;
  const std::function<void(int)> visit = [&](int block) {
    if (seen[static_cast<size_t>(block)]) return;
    seen[static_cast<size_t>(block)] = true;
    for (const int next : function.blocks[static_cast<size_t>(block)].successors) visit(next);
    order.push_back(block);
  };
  if (!function.blocks.empty()) visit(0);
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace tandem::timing
