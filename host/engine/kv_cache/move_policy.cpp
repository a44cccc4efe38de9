// SPDX-License-Identifier: Apache-2.0
//
// The move policy: first sequences that are being moved, then the fullest unit, then the slowest.
#include "engine/kv_cache/move_policy.h"

#include <algorithm>

namespace tandem::engine {
namespace {

struct Planner {
  std::span<const MoveUnit> units;
  std::span<const MoveSequence> sequences;
  const MoveOptions& options;

  int count() const { return static_cast<int>(units.size()); }
  const MoveUnit& at(int unit) const { return units[static_cast<std::size_t>(unit)]; }
  double load(int unit, double more = 0) const {
    return (static_cast<double>(at(unit).used) + more) / at(unit).weight;
  }
  std::uint32_t held(const MoveSequence& sequence, int unit) const {
    const auto index = static_cast<std::size_t>(unit);
    return index < sequence.held.size() ? sequence.held[index] : 0;
  }
  // The number of pages that the unit may still take.
  std::uint32_t room(int unit) const {
    const MoveUnit& u = at(unit);
    const auto most = static_cast<std::uint32_t>(options.low_water * u.total);
    if (!u.alive || u.used >= most) return 0;
    return std::min(most - u.used, u.total - u.used - u.idle);
  }
  // Whether the move of `pages` pages, and therefore each part of it, lowers the sum of used^2 /
  // weight over all units. This guarantees that moves come to an end.
  bool improves(int from, int to, std::uint32_t pages) const {
    return load(to, 0.5 * pages) < load(from, -0.5 * pages);
  }
  bool is_stopped(int from, int to) const {
    return std::ranges::find(options.stopped, UnitPair{from, to}) != options.stopped.end();
  }
  std::optional<KvMove> slice(std::size_t sequence, int from, int to, std::uint32_t pages) const {
    return KvMove{sequence, from, to, std::min(pages, options.max_pages)};
  }

  std::optional<KvMove> under_way() const;
  int target(int from) const;
  std::optional<KvMove> relief(int from) const;
  std::optional<KvMove> balance(int from) const;
};

// Continues the move of a sequence to the unit of its last page, if all of it may go there.
std::optional<KvMove> Planner::under_way() const {
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const int to = sequences[i].last_unit;
    for (int from = 0; to >= 0 && from < count(); ++from) {
      const std::uint32_t pages = held(sequences[i], from);
      if (from == to || pages == 0 || !at(from).alive || is_stopped(from, to)) continue;
      if (pages <= room(to) && improves(from, to, pages)) return slice(i, from, to, pages);
    }
  }
  return {};
}

// The unit with the least load that has room; -1: there is none.
int Planner::target(int from) const {
  int best = -1;
  for (int unit = 0; unit < count(); ++unit) {
    if (unit == from || room(unit) == 0 || is_stopped(from, unit)) continue;
    if (best < 0 || load(unit, 1) < load(best, 1)) best = unit;
  }
  return best;
}

// Moves from a full unit: the largest sequence that may move whole, otherwise a part of the
// largest.
std::optional<KvMove> Planner::relief(int from) const {
  const int to = target(from);
  if (to < 0) return {};
  std::optional<KvMove> whole, part;
  std::uint32_t whole_pages = 0, part_pages = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::uint32_t pages = held(sequences[i], from);
    if (pages > whole_pages && pages <= room(to) && improves(from, to, pages)) {
      whole = slice(i, from, to, pages);
      whole_pages = pages;
    }
    if (pages > part_pages) {
      part = slice(i, from, to, std::min(pages, room(to)));
      part_pages = pages;
    }
  }
  if (whole) return whole;
  if (part && improves(from, to, part->num_pages)) return part;
  return {};
}

// Moves from a slow unit: the largest sequence, or part of one, that leaves the target far less
// loaded.
std::optional<KvMove> Planner::balance(int from) const {
  const int to = target(from);
  if (to < 0) return {};
  std::optional<KvMove> best;
  std::uint32_t most = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    std::uint32_t pages = held(sequences[i], from);
    if (!options.whole_sequences) pages = std::min({pages, options.max_pages, room(to)});
    if (pages <= most || pages > room(to)) continue;
    if (load(to, pages) * options.imbalance > load(from) || !improves(from, to, pages)) continue;
    best = slice(i, from, to, pages);
    most = pages;
  }
  return best;
}

}  // namespace

std::optional<KvMove> plan_move(std::span<const MoveUnit> units,
                                std::span<const MoveSequence> sequences,
                                const MoveOptions& options) {
  const Planner planner{units, sequences, options};
  if (options.whole_sequences) {
    if (const auto move = planner.under_way()) return move;
  }
  const double mark = options.pressed ? options.low_water : options.high_water;
  for (int unit = 0; unit < planner.count(); ++unit) {
    const MoveUnit& u = planner.at(unit);
    if (!u.alive || u.used <= mark * u.total) continue;
    if (const auto move = planner.relief(unit)) return move;
  }
  int slowest = -1;
  for (int unit = 0; unit < planner.count(); ++unit) {
    if (!planner.at(unit).alive) continue;
    if (slowest < 0 || planner.load(unit) > planner.load(slowest)) slowest = unit;
  }
  return slowest < 0 ? std::nullopt : planner.balance(slowest);
}

}  // namespace tandem::engine
