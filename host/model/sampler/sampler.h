// SPDX-License-Identifier: Apache-2.0
//
// Sampler: chooses the next token of one sequence from its logits.
//
// Order: logit bias, penalties over the sequence so far, temperature, top-k, top-p, min-p, draw.
// Temperature 0 is argmax after bias and penalties; the lowest id wins a tie. Log-probabilities are
// the model's: log-softmax of the unchanged logits. With a seed, the draws of a sequence depend
// only on the seed and its own logits, not on other sequences of the batch. Threads: one per
// Sampler. Cost: O(vocab) per token; without cuts one or two passes at the speed of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/tokenizer/tokenizer.h"

namespace tandem::model {

struct SamplingParams {
  float temperature = 1.0f;  // 0: greedy
  int top_k = 0;             // 0: off
  float top_p = 1.0f;        // 1: off
  float min_p = 0.0f;        // 0: off; keeps p >= min_p * p_max
  // > 1 divides positive and multiplies negative logits of tokens seen
  float repetition_penalty = 1.0f;
  float presence_penalty = 0.0f;   // subtracted once for every token generated before
  float frequency_penalty = 0.0f;  // subtracted per earlier occurrence among generated tokens
  // Added to logits, -100..100. -100 bans the token, unless all tokens are banned.
  std::vector<std::pair<TokenId, float>> logit_bias;
  std::optional<std::uint64_t> seed;  // none: a random one
};

struct TokenLogprob {
  TokenId id = kNoToken;
  float logprob = 0;
};

struct SampledToken {
  TokenId id = kNoToken;
  float logprob = 0;
  std::vector<TokenLogprob> top;  // the most likely, best first; as many as requested
};

// A draw that needs only a row of logits: its parameters and its random number.
struct PlainDraw {
  float temperature = 0;
  int top_k = 0;
  float top_p = 1.0f;
  float uniform = 0;  // in [0, 1); of no meaning at temperature 0
};

class Sampler {
 public:
  // Throws Error("sampler", ...) naming the field when a parameter is out of range (NaN included)
  // or a biased id is outside the vocabulary.
  Sampler(const SamplingParams& params, int vocab_size);
  ~Sampler();
  Sampler(Sampler&&) noexcept;

  // Tokens of the prompt count for repetition_penalty only.
  void accept_prompt(std::span<const TokenId> prompt);

  // Draws, and counts the drawn token as seen. Gives its log-probability and those of the `num_top`
  // most likely only if requested. `logits` [vocab] is not changed.
  SampledToken sample(std::span<const float> logits, std::optional<int> num_top);

  // The next draw, for a device that holds the logits. Empty if bias, penalties or min-p are set.
  // The result does not change until accept_draw() or sample(), so the draw can be repeated.
  std::optional<PlainDraw> plain_draw();
  // Call it after a token was drawn by plain_draw().
  void accept_draw();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The log-probability of `id` in one row, and the `num_top` most likely tokens with theirs: the
// log-softmax, in double.
SampledToken scored(std::span<const float> logits, TokenId id, int num_top);
float log_probability(std::span<const float> logits, TokenId id);

}  // namespace tandem::model
