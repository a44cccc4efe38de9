// SPDX-License-Identifier: Apache-2.0
//
// Truncation of a distribution.
#include "model/sampler/candidates.h"

#include <algorithm>

#include "model/sampler/row_math.h"

namespace tandem::model {
struct Candidates::Better {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  }
};

Candidates::Candidates(std::span<const float> logits, float temperature, int top_k) {
  const float best = best_logit(logits);
  std::vector<float> weights(logits.size());
  exponentials(logits, best, 1.0f / temperature, weights.data());
  kept_.reserve(logits.size());
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (weights[id] > 0.0f) kept_.push_back({logits[id], static_cast<TokenId>(id), weights[id]});
  }
  // Temperatures too small to divide by leave none.
  if (kept_.empty()) {
    const std::size_t id = first_equal(logits, best);
    kept_.push_back({best, static_cast<TokenId>(id), 1.0});
  }
  const auto count = static_cast<std::size_t>(top_k);
  if (top_k > 0 && count < kept_.size()) {
    const auto end = kept_.begin() + static_cast<std::ptrdiff_t>(count);
    if (count <= 1024) {
      // A heap of the best: nearly every other logit costs one comparison.
      std::partial_sort(kept_.begin(), end, kept_.end(), Better());
    } else {
      std::nth_element(kept_.begin(), end, kept_.end(), Better());
    }
    kept_.erase(end, kept_.end());
  }
}

double Candidates::total() const {
  double sum = 0;
  for (const Candidate& candidate : kept_) sum += candidate.weight;
  return sum;
}

void Candidates::keep_top_p(float top_p) {
  if (top_p >= 1.0f) return;
  const double wanted = top_p * total();
  // Bisects for the end of the set; `before` is the weight of all candidates before the range.
  double before = 0;
  auto from = kept_.begin(), to = kept_.end();
  while (to - from > 1) {
    const auto middle = from + (to - from) / 2;
    std::nth_element(from, middle, to, Better());
    double upper = 0;
    for (auto candidate = from; candidate != middle; ++candidate) upper += candidate->weight;
    if (before + upper >= wanted) {
      to = middle;
    } else {
      before += upper;
      from = middle;
    }
  }
  kept_.erase(to, kept_.end());
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
  return std::min_element(kept_.begin(), kept_.end(), Better())->id;  // of a rounding remainder
}

std::vector<TokenId> Candidates::ids() const {
  std::vector<TokenId> ids;
  for (const Candidate& candidate : kept_) ids.push_back(candidate.id);
  return ids;
}

}  // namespace tandem::model
