// SPDX-License-Identifier: Apache-2.0
//
// PaysTrial: measures whether sparsifying is faster on these ranks and links, for the sparsifier
// `auto`.
//
// The steps of the trial take turns: dense, sparse. A step's time is that between its first call
// and the first call of the next step; the first pair does not count. Then the ranks exchange their
// medians, and the largest of each kind counts. So all ranks make the same decision, in the same
// call. Threads: step_begins() of any; the rest of the reducer's own thread.
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

class PaysTrial {
 public:
  static constexpr std::uint64_t kPairs = 9;
  static constexpr double kGain = 0.97;  // of the dense step's time; above, sparse does not pay

  struct Outcome {
    Payoff payoff = Payoff::kOpen;
    double dense_seconds = 0;  // a step's, of the slowest rank; 0 until decided
    double sparse_seconds = 0;
  };

  // The first call of a step was submitted. Steps never go down.
  void step_begins(std::uint64_t step, Clock::TimePoint at);

  // Whether a call of `step` sparsifies. The first call behind the trial exchanges the times.
  bool sparsifies(collectives::Group& group, std::uint64_t step,
                  const collectives::CallOptions& options);
  // The step was not one of the trial's: it begins anew, unless it has ended.
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
