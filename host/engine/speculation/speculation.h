// SPDX-License-Identifier: Apache-2.0
//
// Speculation: lets a Drafter guess where guesses pay, and counts the right guesses.
//
// The number of guesses follows from the acceptance of each sequence and from the measured times of
// a row and of a guess (draft_lengths.h, row_pace.h). A sequence whose guesses fail gets none;
// after 32 steps it tries one again. Threads: the engine's. Ownership: owns the drafter.
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
  // Takes one wish for each sequence of a step in which all have one row. `room`: further rows for
  // which the step has room. Lowers `most` to the number that pays, then fills in the drafts.
  void draft(std::span<DraftWish> wishes, int room);
  // Records the drafts that ran.
  void record(std::uint64_t id, int num_drafts, int num_accepted);
  // Records the time of draft(). Ignored if the drafter caught up with known tokens.
  void record_drafting(double seconds);
  // Records the time of a step that had only decode rows and drafts.
  void record_step(int num_rows, double seconds) { pace_.record(num_rows, seconds); }
  void forget(std::uint64_t id);
  // The sequence has released its pages: the drafter forgets it, but its acceptance is kept.
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
  double drafting_seconds_ = 0, num_drafts_ = 0;  // recent sums, for the time of one guess
  int num_last_ = 0;                              // guesses of the last draft()
  std::unordered_map<std::uint64_t, Guesses> sequences_;
  Guesses all_;  // of sequences so far, those that ended included
  SpeculationCounts counts_;
};

}  // namespace tandem::engine
