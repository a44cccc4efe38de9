// SPDX-License-Identifier: Apache-2.0
//
// Speculation: lets a Drafter guess where guesses pay, and keeps the record of those that were
// right.
//
// Lengths follow from the acceptance of each sequence and from the measured time of a row and of a
// guess (draft_lengths.h, row_pace.h). Where guesses fail, they end by themselves; a sequence that
// had none for 32 steps tries one again. Threads: the engine's. Ownership: owns the drafter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>

#include "engine/speculation/drafter.h"
#include "engine/speculation/row_pace.h"

namespace tandem::engine {

struct SpeculationOptions {
  int most_drafts = 8;                                     // per sequence and step
  std::function<std::unique_ptr<Drafter>()> make_drafter;  // empty: no speculation
};

struct SpeculationCounts {
  std::uint64_t drafted = 0, accepted = 0;  // tokens
};

class Speculation {
 public:
  explicit Speculation(const SpeculationOptions& options);

  int most_drafts() const { return most_drafts_; }
  // One wish for each sequence of a step in which all have one row. `room`: rows that the step
  // takes besides. Lowers `most` to what pays, then fills in the drafts.
  void draft(std::span<DraftWish> wishes, int room);
  // Of the drafts that ran.
  void record(std::uint64_t id, int num_drafts, int num_accepted);
  // The time that draft() took. Not counted where the drafter caught up with known tokens.
  void record_drafting(double seconds);
  // The time of a step that had only decode rows and drafts.
  void record_step(int num_rows, double seconds) { pace_.record(num_rows, seconds); }
  void forget(std::uint64_t id);
  // The sequence has given up its pages: the drafter's memory of it is free, its record stays.
  void pause(std::uint64_t id) { drafter_->forget(id); }
  SpeculationCounts counts() const { return counts_; }

 private:
  struct Guesses {
    double right = 0, tried = 0;
    int steps_without = 16;  // since the last guess
  };
  double acceptance(const Guesses& guesses) const;

  const int most_drafts_;
  const std::unique_ptr<Drafter> drafter_;
  RowPace pace_;
  double drafting_seconds_ = 0, num_drafts_ = 0;  // of late, to know the time of a guess
  int num_last_ = 0;                              // guesses of the last draft()
  std::unordered_map<std::uint64_t, Guesses> sequences_;
  Guesses all_;  // of sequences so far, those that ended included
  SpeculationCounts counts_;
};

}  // namespace tandem::engine
