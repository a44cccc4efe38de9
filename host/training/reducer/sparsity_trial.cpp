// SPDX-License-Identifier: Apache-2.0
//
// Steps after the trial are also recorded, because the submitter may be ahead of the calls.
#include "training/reducer/sparsity_trial.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>

#include "common/log_event.h"
#include "common/median.h"

namespace tandem::training {
namespace {

constexpr std::size_t kKeptSteps = 2 * SparsityTrial::kPairs + 8;
constexpr std::size_t kLeastSamples = 3;

using Times = std::array<double, 2>;  // dense, sparse; NaN: too few samples

double median_of(const std::vector<double>& values) {
  if (values.size() < kLeastSamples) return std::numeric_limits<double>::quiet_NaN();
  return median(values);
}

// The largest median of each kind; NaN if a rank has none.
Times slowest(const std::vector<RawVector<std::byte>>& received) {
  Times all{};
  for (const auto& bytes : received) {
    Times theirs{};
    std::memcpy(theirs.data(), bytes.data(), std::min(sizeof(theirs), bytes.size()));
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!(theirs[i] <= all[i])) all[i] = theirs[i];
      if (all[i] != all[i]) return {all[i], all[i]};
    }
  }
  return all;
}

void log_outcome(const SparsityTrial::Outcome& outcome) {
  const std::array<LogField, 3> fields = {{{"gradients", name_of(outcome.payoff)},
                                           {"dense_step_ms", outcome.dense_seconds * 1e3},
                                           {"sparse_step_ms", outcome.sparse_seconds * 1e3}}};
  log_event(LogLevel::kInfo, "[training] trial of the sparsifier auto", fields);
}

}  // namespace

const char* name_of(Payoff payoff) {
  switch (payoff) {
    case Payoff::kDense:
      return "dense";
    case Payoff::kSparse:
      return "sparse";
    case Payoff::kOpen:
      break;
  }
  return "open";
}

void SparsityTrial::step_begins(std::uint64_t step, Clock::TimePoint at) {
  const std::lock_guard lock(mutex_);
  if (ended_ || (!begins_.empty() && begins_.back().first == step)) return;
  if (begins_.size() == kKeptSteps) begins_.erase(begins_.begin());
  begins_.emplace_back(step, at);
}

bool SparsityTrial::sparsifies(collectives::Group& group, std::uint64_t step,
                               const collectives::CallOptions& options) {
  if (outcome_.payoff == Payoff::kOpen) {
    if (!first_step_) first_step_ = step;
    if (step - *first_step_ < 2 * kPairs) return (step - *first_step_) % 2 == 1;
    decide(group, options);
    if (outcome_.payoff == Payoff::kOpen) {
      first_step_ = step;
      return false;
    }
  }
  return outcome_.payoff == Payoff::kSparse;
}

void SparsityTrial::interrupt() { first_step_.reset(); }

void SparsityTrial::restore(Payoff payoff) {
  outcome_ = {payoff, 0, 0};
  first_step_.reset();
  const std::lock_guard lock(mutex_);
  begins_.clear();
  ended_ = payoff != Payoff::kOpen;
}

// Under mutex_.
double SparsityTrial::median_seconds(std::uint64_t first, bool sparse) const {
  std::vector<double> seconds;
  for (std::size_t i = 0; i + 1 < begins_.size(); ++i) {
    const auto [step, begin] = begins_[i];
    const auto [next, end] = begins_[i + 1];
    if (step < first + 2 || step >= first + 2 * kPairs || next != step + 1) continue;
    if (((step - first) % 2 == 1) != sparse) continue;
    seconds.push_back(std::chrono::duration<double>(end - begin).count());
  }
  return median_of(seconds);
}

void SparsityTrial::decide(collectives::Group& group, const collectives::CallOptions& options) {
  Times own;
  {
    const std::lock_guard lock(mutex_);
    own = {median_seconds(*first_step_, false), median_seconds(*first_step_, true)};
  }
  const Times all = slowest(allgatherv(group, std::as_bytes(std::span(own)), options));
  if (all[0] != all[0]) return;  // too few samples: another trial
  outcome_ = {all[1] <= kGain * all[0] ? Payoff::kSparse : Payoff::kDense, all[0], all[1]};
  if (group.rank() == 0) log_outcome(outcome_);
  const std::lock_guard lock(mutex_);
  ended_ = true;
  begins_.clear();
}

}  // namespace tandem::training
