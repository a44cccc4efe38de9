// SPDX-License-Identifier: Apache-2.0
//
// Sampling against naive definitions, and distributions by chi-square with fixed seeds.
#include "model/sampler/sampler.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "common/error.h"
#include "host/model/sampler/infinity.h"
#include "model/sampler/candidates.h"

namespace tandem::model {
namespace {

const float kNan = std::nanf("");

std::vector<float> random_logits(std::mt19937& random, std::size_t size, float spread = 3.0f) {
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> logits(size);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature = 1.0) {
  const double best = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p(logits.size());
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    sum += p[i] = std::exp((logits[i] - best) / temperature);
  for (double& value : p) value /= sum;
  return p;
}

TokenId greedy(const SamplingParams& params, const std::vector<float>& logits) {
  return Sampler(params, static_cast<int>(logits.size())).sample(logits, 0).id;
}

// Ids by probability, best first.
std::vector<TokenId> ranked(const std::vector<double>& p) {
  std::vector<TokenId> ids(p.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](TokenId a, TokenId b) {
    return p[static_cast<std::size_t>(a)] > p[static_cast<std::size_t>(b)];
  });
  return ids;
}

TEST(Candidates, MinPKeepsThoseThatReachExactlyThatShareOfTheBest) {
  const std::vector<float> logits = {1, 3, 3, 2};
  Candidates candidates(logits, 1.0f, 0);
  candidates.keep_min_p(1.0f);
  EXPECT_THAT(candidates.ids(), testing::UnorderedElementsAre(1, 2));
}

TEST(Candidates, KeepWhatTheNaiveDefinitionsKeep) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto logits = random_logits(random, 1 + random() % 600);
    const float temperature = 0.2f + static_cast<float>(random() % 20) * 0.1f;
    const int top_k = static_cast<int>(random() % 40);
    const float top_p = static_cast<float>(random() % 101) / 100.0f;
    const float min_p = static_cast<float>(random() % 30) / 100.0f;
    const auto p = softmax(logits, temperature);
    std::vector<TokenId> expected = ranked(p);
    const auto p_of = [&](TokenId id) { return p[static_cast<std::size_t>(id)]; };
    if (top_k > 0 && expected.size() > static_cast<std::size_t>(top_k)) {
      expected.resize(static_cast<std::size_t>(top_k));
    }
    double total = 0, sum = 0;
    for (const TokenId id : expected) total += p_of(id);
    std::size_t keep = 0;
    while (keep < expected.size() && (keep == 0 || sum < top_p * total))
      sum += p_of(expected[keep++]);
    if (top_p < 1.0f) expected.resize(keep);
    std::erase_if(expected, [&](TokenId id) { return p_of(id) < min_p * p_of(ranked(p)[0]); });

    Candidates candidates(logits, temperature, top_k);
    candidates.keep_top_p(top_p);
    candidates.keep_min_p(min_p);
    auto got = candidates.ids();
    std::sort(got.begin(), got.end());
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(got, expected) << "k " << top_k << " p " << top_p << " min " << min_p;
  }
}

TEST(Candidates, TopPKeepsTheSmallestSetThatReachesExactlyThatShare) {
  const std::vector<float> two(2), four(4);
  Candidates half(two, 1.0f, 0);
  half.keep_top_p(0.5f);
  EXPECT_EQ(half.ids(), std::vector<TokenId>{0});
  Candidates more(four, 1.0f, 0);
  more.keep_top_p(0.75f);
  EXPECT_EQ(more.ids().size(), 3u);
}

TEST(Sampler, GreedyTakesTheLowestIdOfATie) {
  EXPECT_EQ(greedy({.temperature = 0}, {1, 3, 2, 3}), 1);
  EXPECT_EQ(greedy({.temperature = 0}, {-kInfinity, -5}), 1);
}

TEST(Sampler, DrawsFollowTheDistribution) {
  const std::vector<float> logits = {0.0f, 1.0f, 2.0f, -1.0f, 0.5f};
  const auto p = softmax(logits, 1.5);
  Sampler sampler({.temperature = 1.5f, .seed = 42}, 5);
  constexpr int kDraws = 20000;
  std::vector<int> counts(5);
  for (int draw = 0; draw < kDraws; ++draw) {
    ++counts[static_cast<std::size_t>(sampler.sample(logits, 0).id)];
  }
  double chi_square = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    const double expected = p[i] * kDraws;
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  EXPECT_LT(chi_square, 18.5);  // 4 degrees of freedom: exceeded by one seed in a thousand
}

TEST(Sampler, DrawsFollowTheTruncatedDistribution) {
  std::mt19937 random(9);
  const auto logits = random_logits(random, 200, 1.0f);
  const auto p = softmax(logits);
  const auto best = ranked(p);
  double total = 0;
  for (int rank = 0; rank < 8; ++rank)
    total += p[static_cast<std::size_t>(best[static_cast<std::size_t>(rank)])];
  Sampler sampler({.top_k = 8, .seed = 7}, 200);
  std::map<TokenId, int> counts;
  constexpr int kDraws = 20000;
  for (int draw = 0; draw < kDraws; ++draw) ++counts[sampler.sample(logits, 0).id];
  EXPECT_EQ(counts.size(), 8u);
  double chi_square = 0;
  for (std::size_t rank = 0; rank < 8; ++rank) {
    const double expected = p[static_cast<std::size_t>(best[rank])] / total * kDraws;
    chi_square += std::pow(counts[best[rank]] - expected, 2) / expected;
  }
  EXPECT_LT(chi_square, 24.3);  // 7 degrees of freedom
}

TEST(Sampler, TheSeedDecidesTheDraws) {
  std::mt19937 random(2);
  std::vector<std::vector<float>> steps;
  for (int step = 0; step < 50; ++step) steps.push_back(random_logits(random, 100, 1.0f));
  const auto draw = [&](std::uint64_t seed) {
    Sampler sampler({.seed = seed}, 100);
    std::vector<TokenId> ids;
    for (const auto& logits : steps) ids.push_back(sampler.sample(logits, 0).id);
    return ids;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Sampler, PenaltiesFollowTheirFormulas) {
  // Tokens 0 and 1 in the prompt, token 2 generated twice.
  const std::vector<float> logits = {4.0f, -4.0f, 6.0f, 5.0f};
  const auto value_of = [&](SamplingParams params, TokenId id) {
    // Raises `id` by a bias to find the penalised logit: the least bias at which it wins over 3.
    float low = -50, high = 50;
    for (int step = 0; step < 40; ++step) {
      const float middle = (low + high) / 2;
      SamplingParams biased = params;
      biased.temperature = 0;
      Sampler sampler(biased, 4);
      const TokenId prompt[] = {0, 1};
      sampler.accept_prompt(prompt);
      const std::vector<float> two = {-100, -100, 100, -100};
      sampler.sample(two, 0);
      sampler.sample(two, 0);
      std::vector<float> raised = logits;
      raised[3] = middle;
      for (std::size_t other = 0; other < 3; ++other) {
        if (static_cast<TokenId>(other) != id) raised[other] = -90;
      }
      (sampler.sample(raised, 0).id == id ? low : high) = middle;
    }
    return low;
  };
  const SamplingParams repetition{.repetition_penalty = 2.0f};
  EXPECT_NEAR(value_of(repetition, 0), 2.0f, 1e-3);   // positive: divided
  EXPECT_NEAR(value_of(repetition, 1), -8.0f, 1e-3);  // negative: multiplied
  EXPECT_NEAR(value_of(repetition, 2), 3.0f, 1e-3);
  const SamplingParams presence{.presence_penalty = 1.5f};
  EXPECT_NEAR(value_of(presence, 0), 4.0f, 1e-3);  // the prompt does not count
  EXPECT_NEAR(value_of(presence, 2), 4.5f, 1e-3);  // once
  const SamplingParams frequency{.frequency_penalty = 1.5f};
  EXPECT_NEAR(value_of(frequency, 2), 3.0f, 1e-3);  // twice
}

TEST(Sampler, BiasForcesAndForbids) {
  const std::vector<float> logits = {5, 1, 0};
  EXPECT_EQ(greedy({.temperature = 0, .logit_bias = {{2, 100.0f}}}, logits), 2);
  EXPECT_EQ(greedy({.temperature = 0, .logit_bias = {{0, -100.0f}}}, logits), 1);
}

TEST(Sampler, ABiasOfMinus100BansATokenWhateverItsLogit) {
  EXPECT_EQ(greedy({.temperature = 0, .logit_bias = {{0, -100.0f}}}, {200, 1, 0}), 1);
  EXPECT_EQ(greedy({.temperature = 0, .logit_bias = {{0, -100.0f}}}, {kInfinity, 1, 0}), 1);
  EXPECT_EQ(greedy({.temperature = 0, .logit_bias = {{0, -99.0f}}}, {200, 1, 0}), 0);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(greedy({.temperature = 2, .logit_bias = {{0, -100.0f}}, .seed = seed}, {500, 300, 0}),
              1);
  }
  EXPECT_THROW(Sampler({.logit_bias = {{0, -100.0f}, {1, -100.0f}}}, 2), Error);
}

TEST(Sampler, LogProbabilitiesAreThoseOfTheModel) {
  std::mt19937 random(4);
  const auto logits = random_logits(random, 300);
  const auto p = softmax(logits);
  Sampler sampler({.temperature = 0.3f, .top_k = 5, .logit_bias = {{7, 20.0f}}, .seed = 1}, 300);
  const SampledToken token = sampler.sample(logits, 4);
  EXPECT_NEAR(token.logprob, std::log(p[static_cast<std::size_t>(token.id)]), 1e-5);
  const auto best = ranked(p);
  ASSERT_EQ(token.top.size(), 4u);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(token.top[rank].id, best[rank]);
    EXPECT_NEAR(token.top[rank].logprob, std::log(p[static_cast<std::size_t>(best[rank])]), 1e-5);
  }
  EXPECT_NEAR(log_probability(logits, 11), std::log(p[11]), 1e-5);
  EXPECT_EQ(sampler.sample(logits, 1000).top.size(), 300u);
}

TEST(Sampler, DrawsTheSameWhetherLogProbabilitiesAreAskedForOrNot) {
  std::mt19937 random(9);
  Sampler asked({.seed = 5}, 200), silent({.seed = 5}, 200);
  for (int step = 0; step < 50; ++step) {
    const auto logits = random_logits(random, 200);
    const SampledToken with = asked.sample(logits, 0),
                       without = silent.sample(logits, std::nullopt);
    EXPECT_EQ(with.id, without.id);
    EXPECT_LT(with.logprob, 0.0f);
    EXPECT_EQ(without.logprob, 0.0f);
  }
}

TEST(Sampler, NanNeverWinsAndARowWithoutNumbersIsAnError) {
  EXPECT_EQ(greedy({.temperature = 0}, {kNan, 1, kNan, 2}), 3);
  EXPECT_EQ(greedy({.temperature = 0}, {kNan, kInfinity, 5}), 1);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(greedy({.top_p = 0.9f, .seed = seed}, {kNan, 1, -kInfinity, kNan}), 1);
  }
  Sampler sampler({.seed = 1}, 3);
  EXPECT_THROW(sampler.sample(std::vector<float>{kNan, kNan, -kInfinity}, 0), Error);
  EXPECT_TRUE(std::isfinite(sampler.sample(std::vector<float>{kNan, 1, 1}, 2).logprob));
}

TEST(Candidates, AreThoseWithAWeightAndNeverNone) {
  const std::vector<float> logits = {-200, 3, -200, 2, -kInfinity};
  EXPECT_THAT(Candidates(logits, 1.0f, 0).ids(), testing::ElementsAre(1, 3));
  EXPECT_EQ(Candidates(logits, 1.0f, 0).at_share(std::nextafter(1.0, 2.0)), 1);
  EXPECT_THAT(Candidates(logits, 1e-42f, 0).ids(), testing::ElementsAre(1));
}

TEST(Sampler, TinyTemperaturesAreGreedy) {
  const std::vector<float> logits = {1.0f, 1.001f, 0.5f};
  EXPECT_EQ(greedy({.temperature = 1e-30f, .seed = 3}, logits), 1);
}

TEST(Sampler, NamesTheParameterOutOfRange) {
  const auto field_of = [](const SamplingParams& params) -> std::string {
    try {
      const Sampler sampler(params, 10);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(field_of({}), "");
  EXPECT_THAT(field_of({.temperature = -1}), testing::HasSubstr("temperature must be"));
  EXPECT_THAT(field_of({.temperature = kNan}), testing::HasSubstr("temperature"));
  EXPECT_THAT(field_of({.temperature = kInfinity}), testing::HasSubstr("temperature"));
  EXPECT_THAT(field_of({.top_k = -1}), testing::HasSubstr("top_k"));
  EXPECT_THAT(field_of({.top_p = 1.5f}), testing::HasSubstr("top_p"));
  EXPECT_THAT(field_of({.min_p = kNan}), testing::HasSubstr("min_p"));
  EXPECT_THAT(field_of({.repetition_penalty = 0}), testing::HasSubstr("repetition_penalty"));
  EXPECT_THAT(field_of({.presence_penalty = 3}), testing::HasSubstr("presence_penalty"));
  EXPECT_THAT(field_of({.frequency_penalty = kNan}), testing::HasSubstr("frequency_penalty"));
  EXPECT_THAT(field_of({.logit_bias = {{10, 0}}}), testing::HasSubstr("logit_bias"));
  EXPECT_THAT(field_of({.logit_bias = {{1, 101}}}), testing::HasSubstr("logit_bias"));
}

TEST(Sampler, HandsOutThePlainDrawThatItWouldMake) {
  const SamplingParams params = {.temperature = 0.8f, .top_k = 3, .top_p = 0.9f, .seed = 5};
  const std::vector<float> logits = {1.0f, 2.5f, 0.5f, 2.0f, 1.5f};
  Sampler here(params, 5), there(params, 5);
  for (int i = 0; i < 200; ++i) {
    const auto draw = there.plain_draw();
    ASSERT_TRUE(draw);
    EXPECT_EQ(there.plain_draw()->uniform, draw->uniform) << "until it has been made";
    EXPECT_LT(draw->uniform, 1.0f);
    Candidates candidates(logits, draw->temperature, draw->top_k);
    candidates.keep_top_p(draw->top_p);
    const TokenId expected = candidates.at_share(draw->uniform);
    if (i % 2 == 0) {
      there.accept_draw();
    } else {
      EXPECT_EQ(there.sample(logits, std::nullopt).id, expected) << "the same number after all";
    }
    EXPECT_EQ(here.sample(logits, std::nullopt).id, expected);
  }
}

TEST(Sampler, MakesNoPlainDrawOfWhatNeedsMoreThanARow) {
  const auto plain = [](const SamplingParams& params) {
    return Sampler(params, 10).plain_draw().has_value();
  };
  EXPECT_TRUE(plain({}));
  EXPECT_TRUE(plain({.temperature = 0}));
  EXPECT_FALSE(plain({.min_p = 0.1f}));
  EXPECT_FALSE(plain({.repetition_penalty = 1.1f}));
  EXPECT_FALSE(plain({.presence_penalty = 0.5f}));
  EXPECT_FALSE(plain({.frequency_penalty = 0.5f}));
  EXPECT_FALSE(plain({.logit_bias = {{1, 2.0f}}}));
}

}  // namespace
}  // namespace tandem::model
