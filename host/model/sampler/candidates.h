// SPDX-License-Identifier: Apache-2.0
//
// Candidates: the tokens that a draw chooses from, after top-k, top-p and min-p.
//
// Weights are exp((logit - best) / temperature), not normalised. Of equal candidates the one with
// the lower id is better. A token whose weight is 0 in f32 is not a candidate. At least one
// candidate always remains. Cost: O(vocab) per cut; nothing is sorted.
#pragma once

#include <span>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace tandem::model {

class Candidates {
 public:
  // The best `top_k` (0: all) of `logits` [vocab], which hold no NaN and at least one finite
  // value; -inf is never chosen.
  Candidates(std::span<const float> logits, float temperature, int top_k);

  void keep_top_p(float top_p);  // smallest best-first set with at least this share; 1: all
  void keep_min_p(float min_p);  // those with at least this share of the best one's weight

  // The candidate at `share` in [0, 1) of the total weight.
  TokenId at_share(double share) const;

  std::vector<TokenId> ids() const;

 private:
  struct Candidate {
    float logit;
    TokenId id;
    double weight;
  };
  struct Better;  // orders candidates, best first
  double total() const;

  std::vector<Candidate> kept_;
};

}  // namespace tandem::model
