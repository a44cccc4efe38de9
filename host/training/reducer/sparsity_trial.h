// SPDX-License-Identifier: Apache-2.0
//
// SparsityTrial: measures whether sparsifying is faster on these ranks and links, for the
// sparsifier `auto`.
//
// Dense and sparse steps alternate during the trial. The time of a step is that between its first
// call and the first call of the next step; the first pair of steps does not count. Then the ranks
// exchange their medians, and the largest of each kind counts. So all ranks make the same decision,
// in the same call. Threads: step_begins() from any; the rest from the reducer's own thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/collective.h"
#include "common/clock.h"

namespace tandem::training {

enum class Payoff : std::uint8_t { kOpen, kDense, kSparse };

class SparsityTrial {
 public:
  static constexpr std::uint64_t kPairs = 9;
  // sparse steps must take at most this part of the dense time
  static constexpr double kGain = 0.97;

  struct Outcome {
    Payoff payoff = Payoff::kOpen;
    double dense_seconds = 0;  // time of a step on the slowest rank; 0 until decided
    double sparse_seconds = 0;
  };

  // Call it when the first call of a step was submitted. Step numbers never decrease.
  void step_begins(std::uint64_t step, Clock::TimePoint at);

  // Whether a call of `step` sparsifies. The first call after the trial exchanges the times.
  bool sparsifies(collectives::Group& group, std::uint64_t step,
                  const collectives::CallOptions& options);
  // The step did not belong to the trial: the trial starts again, unless it has ended.
  void interrupt();

  const Outcome& outcome() const { return outcome_; }
  void restore(Payoff payoff);

 private:
  void decide(collectives::Group& group, const collectives::CallOptions& options);
  double median_seconds(std::uint64_t first, bool sparse) const;

  std::optional<std::uint64_t> first_step_;
  Outcome outcome_;
  std::mutex mutex_;
  std::vector<std::pair<std::uint64_t, Clock::TimePoint>> begins_;  // of the latest steps
  bool ended_ = false;
};

// "open", "dense" or "sparse".
const char* name_of(Payoff payoff);

}  // namespace tandem::training
