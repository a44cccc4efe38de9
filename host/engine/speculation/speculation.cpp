// SPDX-License-Identifier: Apache-2.0
//
// Acceptance is a mean over recent guesses. While these are few, it is pulled towards the mean of
// all sequences.
#include "engine/speculation/speculation.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/speculation/draft_lengths.h"

namespace tandem::engine {
namespace {

constexpr int kProbeSteps = 32;     // after this many steps without a guess, one is tried
constexpr double kKeptOfOwn = 0.9;  // factor for the weight of earlier guesses, per guess
constexpr double kKeptOfAll = 0.99;
constexpr double kWeightOfAll = 2;  // guesses of others that count for a new sequence

void count(double right, double kept, double& sum_right, double& sum_tried) {
  sum_right = sum_right * kept + right;
  sum_tried = sum_tried * kept + 1;
}

}  // namespace

Speculation::Speculation(const SpeculationOptions& options)
    : most_drafts_(options.most_drafts), drafter_(options.make_drafter()) {}

double Speculation::acceptance(const Guesses& guesses) const {
  const double of_all = (all_.right + 1) / (all_.tried + 2);
  return (guesses.right + kWeightOfAll * of_all) / (guesses.tried + kWeightOfAll);
}

void Speculation::draft(std::span<DraftWish> wishes, int room) {
  std::vector<DraftCandidate> candidates;
  for (const DraftWish& wish : wishes) {
    candidates.push_back({acceptance(sequences_[wish.id]), wish.most});
  }
  const auto num_rows = static_cast<double>(wishes.size());
  double share = pace_.share_of_row(num_rows);
  if (const double step = pace_.step_seconds(num_rows); step > 0 && num_drafts_ > 0) {
    share += drafting_seconds_ / num_drafts_ / step;
  }
  const std::vector<int> lengths = draft_lengths(candidates, share, room);
  for (const int length : lengths) room -= length;
  std::vector<DraftWish> paying;
  std::vector<std::size_t> of_wish;
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    Guesses& guesses = sequences_[wishes[i].id];
    const bool probes = ++guesses.steps_without > kProbeSteps && room > 0;
    const int length = std::min(wishes[i].most, std::max(lengths[i], probes ? 1 : 0));
    if (length == 0) continue;
    if (lengths[i] == 0) --room;
    paying.push_back({wishes[i].id, wishes[i].tokens, length, {}});
    of_wish.push_back(i);
  }
  num_last_ = 0;
  if (paying.empty()) return;
  drafter_->draft(paying);
  bool catches_up = false;
  for (std::size_t i = 0; i < paying.size(); ++i) {
    num_last_ += static_cast<int>(paying[i].drafts.size());
    catches_up |= paying[i].num_caught_up > most_drafts_ + 1;
    wishes[of_wish[i]].drafts = std::move(paying[i].drafts);
  }
  // A prompt is computed only once, so its time says nothing about the time of a guess.
  if (catches_up) num_last_ = 0;
}

void Speculation::record_drafting(double seconds) {
  if (num_last_ == 0) return;
  drafting_seconds_ = drafting_seconds_ * kKeptOfAll + seconds;
  num_drafts_ = num_drafts_ * kKeptOfAll + num_last_;
}

void Speculation::record(std::uint64_t id, int num_drafts, int num_accepted) {
  counts_.drafted += static_cast<std::uint64_t>(num_drafts);
  counts_.accepted += static_cast<std::uint64_t>(num_accepted);
  Guesses& guesses = sequences_[id];
  guesses.steps_without = 0;
  // Guesses after a wrong one give no information.
  for (int i = 0; i < std::min(num_accepted + 1, num_drafts); ++i) {
    const double right = i < num_accepted ? 1 : 0;
    count(right, kKeptOfOwn, guesses.right, guesses.tried);
    count(right, kKeptOfAll, all_.right, all_.tried);
  }
}

void Speculation::forget(std::uint64_t id) {
  sequences_.erase(id);
  drafter_->forget(id);
}

}  // namespace tandem::engine
