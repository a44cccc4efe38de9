// SPDX-License-Identifier: Apache-2.0
//
// Candidates: the tokens a draw may choose from, cut down by top-k, top-p and min-p.
//
// Weights are exp((logit - best) / temperature), not normalised. Order: best first, lowest id on a
// tie, once a cut needed an order. Cost: O(vocab) each, plus sorting what is kept.
#pragma once

#include <span>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace tandem::model {

class Candidates {
 public:
  // `logits` [vocab] hold no NaN and at least one finite value; -inf is never chosen.
  Candidates(std::span<const float> logits, float temperature);

  void keep_top_k(int top_k);    // 0: all
  void keep_top_p(float top_p);  // smallest best-first set with at least this share; 1: all
  void keep_min_p(float min_p);  // those with at least this share of the best one's weight

  // The candidate at `share` in [0, 1) of the total weight.
  TokenId at_share(double share) const;

  std::vector<TokenId> ids() const;

 private:
  struct Candidate {
    double weight;
    float logit;
    TokenId id;
  };
  static bool better(const Candidate& a, const Candidate& b);
  double total() const;

  std::vector<Candidate> kept_;
};

}  // namespace tandem::model
