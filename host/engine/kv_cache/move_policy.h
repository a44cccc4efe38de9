// SPDX-License-Identifier: Apache-2.0
//
// The move policy: chooses the pages of a sequence that move next from one attention unit to
// another. A pure function of the pages that the units hold.
//
// A unit's load is its pages in use over its weight (bandwidth or share): the time that it takes to
// attend. Pages leave a unit that is fuller than the high-water mark (under pressure: the low one),
// or whose load is `imbalance` times another's. They go to the unit with the least load among those
// below the low-water mark that have free pages, not just idle ones. A move must lower the sum of
// used^2 / weight, so moves come to an end. Where each sequence stays on one unit, a split sequence
// moves to the unit of its last page. Other sequences move to balance load only if all their pages
// may move. Cost: O(units^2 + units * sequences). Threads: any. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tandem::engine {

struct MoveUnit {
  bool alive = true;
  std::uint32_t total = 0, used = 0, idle = 0;  // pages
  double weight = 1;                            // above 0
};

struct MoveSequence {
  // [at most units]: the sequence's movable pages on each unit
  std::span<const std::uint32_t> held;
  int last_unit = -1;  // the unit of the sequence's last page; -1: it has no page
};

struct UnitPair {
  int from = 0, to = 0;
  friend bool operator==(const UnitPair&, const UnitPair&) = default;
};

struct MoveOptions {
  double high_water = 0.9, low_water = 0.75;  // as fractions of a unit's pages
  double imbalance = 2;
  std::uint32_t max_pages = 8;             // upper limit of the pages of one move
  bool pressed = false;                    // a sequence was preempted for lack of pages
  bool whole_sequences = true;             // each sequence stays on one unit
  std::span<const UnitPair> stopped = {};  // pairs of units between which no pages are moved
};

struct KvMove {
  std::size_t sequence = 0;
  int from = 0, to = 0;
  std::uint32_t num_pages = 0;  // the sequence's last pages on `from`
  friend bool operator==(const KvMove&, const KvMove&) = default;
};

std::optional<KvMove> plan_move(std::span<const MoveUnit> units,
                                std::span<const MoveSequence> sequences,
                                const MoveOptions& options);

}  // namespace tandem::engine
