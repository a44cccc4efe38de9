// SPDX-License-Identifier: Apache-2.0
//
// The values before a free-running unit fit into the unit and the links on both of its sides, so
// the capacities on the way add up.
#include "emulation/card/program/stalled_links.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace tandem::emulation {
namespace {

// What one call takes, rounded up.
uint64_t held_inside(const std::vector<LinkTable::Level>& links, uint32_t unit, uint64_t calls) {
  uint64_t taken = 0;
  for (const LinkTable::Level& link : links) taken += link.reader == unit ? link.taken : 0;
  return taken / calls + 1;
}

}  // namespace

std::string stalled_links(const std::vector<LinkTable::Level>& links,
                          const std::vector<UnitRest>& units, uint32_t writer) {
  struct Way {
    uint32_t unit;
    uint64_t capacity;
  };
  std::string text;
  std::vector<Way> ways = {{writer, 0}};
  std::set<uint32_t> seen = {writer};
  for (size_t next = 0; next < ways.size(); ++next) {
    const Way way = ways[next];
    for (const LinkTable::Level& link : links) {
      if (link.writer != way.unit) continue;
      const uint64_t own = link.depth == 0 ? kUnstatedCapacity : link.depth;
      const uint64_t capacity = way.capacity + own;
      const UnitRest& reader = units[link.reader];
      if (reader.is_free_running) {
        if (reader.calls == 0 || !seen.insert(link.reader).second) continue;
        ways.push_back({link.reader, capacity + held_inside(links, link.reader, reader.calls)});
      } else if (reader.is_idle && link.held > capacity) {
        text += std::to_string(link.reader) + " " + std::to_string(link.held) + " " +
                std::to_string(link.depth) + " " + link.name + " ";
      }
    }
  }
  return text;
}

std::vector<LinkTable::Level> left_links(const std::vector<LinkTable::Level>& links,
                                         const std::vector<UnitRest>& units) {
  const auto is_over = [&](uint32_t unit) {
    return units[unit].is_content && !units[unit].is_free_running;
  };
  std::vector<LinkTable::Level> left;
  std::copy_if(links.begin(), links.end(), std::back_inserter(left), [&](const auto& link) {
    return link.held != 0 && is_over(link.writer) && is_over(link.reader) &&
           units[link.reader].calls != 0;
  });
  return left;
}

}  // namespace tandem::emulation
