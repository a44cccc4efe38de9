// SPDX-License-Identifier: Apache-2.0
//
// Each sequence has its own std::mt19937_64 and takes one number per sampled token, so other
// sequences change nothing. NaN logits count as -inf and +inf as the largest finite float; a row
// without a finite logit is an Error.
#include "model/sampler/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include "common/error.h"
#include "model/sampler/candidates.h"
#include "model/sampler/row_math.h"

namespace tandem::model {
namespace {

constexpr float kBanningBias = -100.0f;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

float cleaned(float logit) {
  if (std::isnan(logit)) return kLowest;
  return std::min(logit, std::numeric_limits<float>::max());
}

float best_finite(std::span<const float> logits) {
  const float best = best_logit(logits);
  if (best == kLowest) {
    throw Error("sampler", "the model's output holds no finite logit; its weights are damaged");
  }
  return best;
}

double log_sum_exp(std::span<const float> logits) {
  const float best = best_finite(logits);
  return best + std::log(sum_of_exponentials(logits, best));
}

void check(bool good, const char* field, const std::string& range) {
  if (!good) throw Error("sampler", std::string(field) + " must be " + range);
}

void check_not_all_banned(const SamplingParams& params, int vocab_size) {
  std::unordered_set<TokenId> banned;
  for (const auto& [id, bias] : params.logit_bias) {
    if (bias <= kBanningBias) banned.insert(id);
  }
  check(banned.size() < static_cast<std::size_t>(vocab_size), "logit_bias",
        "above -100 for at least one token");
}

void check_params(const SamplingParams& params, int vocab_size) {
  // Written so that a NaN fails.
  check(params.temperature >= 0.0f && std::isfinite(params.temperature), "temperature",
        "a finite number of at least 0");
  check(params.top_k >= 0, "top_k", "at least 0 (0 turns it off)");
  check(params.top_p >= 0.0f && params.top_p <= 1.0f, "top_p", "in 0..1");
  check(params.min_p >= 0.0f && params.min_p <= 1.0f, "min_p", "in 0..1");
  check(params.repetition_penalty > 0.0f && std::isfinite(params.repetition_penalty),
        "repetition_penalty", "a finite number greater than 0");
  check(std::fabs(params.presence_penalty) <= 2.0f, "presence_penalty", "in -2..2");
  check(std::fabs(params.frequency_penalty) <= 2.0f, "frequency_penalty", "in -2..2");
  for (const auto& [id, bias] : params.logit_bias) {
    check(id >= 0 && id < vocab_size, "logit_bias",
          "of tokens 0.." + std::to_string(vocab_size - 1) + ", not " + std::to_string(id));
    check(std::fabs(bias) <= 100.0f, "logit_bias", "in -100..100");
  }
  check_not_all_banned(params, vocab_size);
}

std::uint64_t random_seed() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

// A heap of the best so far, its worst on top: one pass, and most tokens cost one comparison.
std::vector<TokenLogprob> most_likely(std::span<const float> logits, int count, double norm) {
  struct Entry {
    float logit;
    TokenId id;
  };
  const auto better = [](const Entry& a, const Entry& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  const std::size_t kept = std::min(static_cast<std::size_t>(std::max(count, 0)), logits.size());
  std::vector<Entry> best;
  best.reserve(kept + 1);
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const Entry entry{cleaned(logits[id]), static_cast<TokenId>(id)};
    if (best.size() == kept && (kept == 0 || !better(entry, best.front()))) continue;
    best.push_back(entry);
    std::ranges::push_heap(best, better);
    if (best.size() <= kept) continue;
    std::ranges::pop_heap(best, better);
    best.pop_back();
  }
  std::ranges::sort_heap(best, better);
  std::vector<TokenLogprob> top;
  for (const Entry& entry : best) {
    top.push_back({entry.id, static_cast<float>(entry.logit - norm)});
  }
  return top;
}

}  // namespace

struct Sampler::State {
  struct Seen {
    int generated = 0;  // occurrences among generated tokens; 0: in the prompt only
  };

  SamplingParams params;
  int vocab_size = 0;
  std::mt19937_64 random;
  std::optional<std::uint64_t> next_bits;  // drawn ahead
  std::unordered_map<TokenId, Seen> seen;
  std::vector<float> scratch;  // [vocab]

  bool penalises() const;
  std::uint64_t peek_bits();
  std::span<const float> biased(std::span<const float> logits);
  TokenId draw(std::span<const float> logits, float best);
  TokenId draw_from_all(std::span<const float> logits, float best, double share);
};

bool Sampler::State::penalises() const {
  return params.repetition_penalty != 1.0f || params.presence_penalty != 0.0f ||
         params.frequency_penalty != 0.0f;
}

std::uint64_t Sampler::State::peek_bits() {
  if (!next_bits) next_bits = random();
  return *next_bits;
}

// The logits after bias and penalties; they themselves where there is nothing to apply.
std::span<const float> Sampler::State::biased(std::span<const float> logits) {
  if (params.logit_bias.empty() && !penalises()) return logits;
  scratch.resize(logits.size());
  clean_logits(logits, scratch.data());
  for (const auto& [id, bias] : params.logit_bias) {
    scratch[static_cast<std::size_t>(id)] += bias <= kBanningBias ? kLowest : bias;
  }
  for (const auto& [id, tokens] : seen) {
    float& logit = scratch[static_cast<std::size_t>(id)];
    logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    if (tokens.generated > 0) {
      logit -=
          params.presence_penalty + params.frequency_penalty * static_cast<float>(tokens.generated);
    }
  }
  clean_logits(scratch, scratch.data());
  return scratch;
}

TokenId Sampler::State::draw(std::span<const float> logits, float best) {
  if (params.temperature == 0.0f) return static_cast<TokenId>(first_equal(logits, best));
  const double share = static_cast<double>(peek_bits() >> 11) * 0x1p-53;
  next_bits.reset();
  if (params.top_k == 0 && params.top_p >= 1.0f && params.min_p <= 0.0f) {
    return draw_from_all(logits, best, share);
  }
  scratch.resize(logits.size());
  if (logits.data() != scratch.data()) clean_logits(logits, scratch.data());
  Candidates candidates(scratch, params.temperature, params.top_k);
  candidates.keep_top_p(params.top_p);
  candidates.keep_min_p(params.min_p);
  return candidates.at_share(share);
}

// Nothing is cut off, so nothing needs to be ordered.
TokenId Sampler::State::draw_from_all(std::span<const float> logits, float best, double share) {
  scratch.resize(logits.size());
  const std::size_t best_id = first_equal(logits, best);  // before `logits` is written over
  exponentials(logits, best, 1.0f / params.temperature, scratch.data());
  double left = share * sum_of(scratch);
  for (std::size_t id = 0; id < scratch.size(); ++id) {
    left -= scratch[id];
    if (left < 0 && scratch[id] > 0.0f) return static_cast<TokenId>(id);
  }
  return static_cast<TokenId>(best_id);  // rounding may leave a remainder
}

Sampler::Sampler(const SamplingParams& params, int vocab_size) : state_(std::make_unique<State>()) {
  check_params(params, vocab_size);
  state_->params = params;
  state_->vocab_size = vocab_size;
  state_->random.seed(params.seed ? *params.seed : random_seed());
}

Sampler::~Sampler() = default;
Sampler::Sampler(Sampler&&) noexcept = default;

void Sampler::accept_prompt(std::span<const TokenId> prompt) {
  if (state_->params.repetition_penalty == 1.0f) return;
  for (const TokenId id : prompt) {
    if (id >= 0 && id < state_->vocab_size) state_->seen.try_emplace(id);
  }
}

SampledToken Sampler::sample(std::span<const float> logits, std::optional<int> num_top) {
  State& state = *state_;
  TANDEM_CHECK_OP(logits.size(), ==, static_cast<std::size_t>(state.vocab_size));
  const std::span<const float> biased = state.biased(logits);
  SampledToken token;
  token.id = state.draw(biased, best_finite(biased));  // a bias may have taken the last finite one
  if (state.penalises()) ++state.seen[token.id].generated;
  return num_top ? scored(logits, token.id, *num_top) : token;
}

std::optional<PlainDraw> Sampler::plain_draw() {
  State& state = *state_;
  const SamplingParams& params = state.params;
  if (!params.logit_bias.empty() || state.penalises() || params.min_p > 0.0f) return {};
  PlainDraw draw{params.temperature, params.top_k, params.top_p, 0.0f};
  // The leading 24 bits of the number that sample() takes: with more, rounding could give 1.
  if (params.temperature > 0.0f) {
    draw.uniform = static_cast<float>(state.peek_bits() >> 40) * 0x1p-24f;
  }
  return draw;
}

void Sampler::accept_draw() { state_->next_bits.reset(); }

SampledToken scored(std::span<const float> logits, TokenId id, int num_top) {
  TANDEM_CHECK_OP(static_cast<std::size_t>(id), <, logits.size());
  const double norm = log_sum_exp(logits);
  SampledToken token{id, 0, {}};
  token.logprob = static_cast<float>(cleaned(logits[static_cast<std::size_t>(id)]) - norm);
  if (num_top > 0) token.top = most_likely(logits, num_top, norm);
  return token;
}

float log_probability(std::span<const float> logits, TokenId id) {
  return scored(logits, id, 0).logprob;
}

}  // namespace tandem::model
