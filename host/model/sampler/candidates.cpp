// SPDX-License-Identifier: Apache-2.0
//
// Truncation of a distribution.
#include "model/sampler/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::model {

Candidates::Candidates(std::span<const float> logits, float temperature) {
  const float best = *std::max_element(logits.begin(), logits.end());
  kept_.reserve(logits.size());
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const double scaled = (static_cast<double>(logits[id]) - best) / temperature;
    if (scaled < -700.0) continue;  // its weight is zero, or as good as that
    kept_.push_back({std::exp(scaled), logits[id], static_cast<TokenId>(id)});
  }
}

bool Candidates::better(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

double Candidates::total() const {
  double sum = 0;
  for (const Candidate& candidate : kept_) sum += candidate.weight;
  return sum;
}

void Candidates::keep_top_k(int top_k) {
  const auto count = static_cast<std::size_t>(top_k);
  if (top_k == 0 || count >= kept_.size()) return;
  std::nth_element(kept_.begin(), kept_.begin() + (top_k - 1), kept_.end(), better);
  kept_.resize(count);
}

void Candidates::keep_top_p(float top_p) {
  if (top_p >= 1.0f) return;
  const double wanted = top_p * total();
  // Sorts the best 64, then 256, ... until they hold the share wanted.
  double sum = 0;
  std::size_t sorted = 0;
  for (std::size_t chunk = 64; sorted < kept_.size(); chunk *= 4) {
    const std::size_t end = std::min(kept_.size(), sorted + chunk);
    const auto from = kept_.begin() + static_cast<std::ptrdiff_t>(sorted);
    const auto to = kept_.begin() + static_cast<std::ptrdiff_t>(end);
    std::partial_sort(from, to, kept_.end(), better);
    for (; sorted < end; ++sorted) {
      sum += kept_[sorted].weight;
      if (sum >= wanted) {
        kept_.resize(sorted + 1);
        return;
      }
    }
  }
}

void Candidates::keep_min_p(float min_p) {
  if (min_p <= 0.0f) return;
  double best = 0;
  for (const Candidate& candidate : kept_) best = std::max(best, candidate.weight);
  std::erase_if(kept_, [&](const Candidate& candidate) { return candidate.weight < min_p * best; });
}

TokenId Candidates::at_share(double share) const {
  double left = share * total();
  for (const Candidate& candidate : kept_) {
    left -= candidate.weight;
    if (left < 0) return candidate.id;
  }
  return kept_.back().id;  // rounding may leave a remainder
}

std::vector<TokenId> Candidates::ids() const {
  std::vector<TokenId> ids;
  for (const Candidate& candidate : kept_) ids.push_back(candidate.id);
  return ids;
}

}  // namespace tandem::model
