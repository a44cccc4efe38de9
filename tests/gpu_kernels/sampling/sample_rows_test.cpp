// SPDX-License-Identifier: Apache-2.0
//
// Tokens against a naive sort in doubles: where a cut or the draw lies so near to a boundary that
// rounding decides, either side is right.
#include "sampling/sample_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "gpu_kernels/device_array.h"
#include "gpu_kernels/random_floats.h"

namespace tandem::gpu_kernels {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr double kMargin = 1e-6;  // of the total

struct Sampled {
  std::vector<std::int32_t> tokens;
  std::vector<float> logprobs;
};

// What rows ask for at most.
SampleWork work_of(const std::vector<SampleParameters>& parameters) {
  SampleWork work = SampleWork::kGreedy;
  for (const SampleParameters& p : parameters) {
    if (p.temperature > 0) work = std::max(work, SampleWork::kDraws);
    if (p.temperature > 0 && (p.top_k > 0 || p.top_p < 1)) work = SampleWork::kCuts;
  }
  return work;
}

Sampled sample_in_parts(const std::vector<float>& logits, std::size_t vocab,
                        const std::vector<SampleParameters>& parameters, int parts, int calls = 1) {
  const auto rows = static_cast<std::int64_t>(parameters.size());
  DeviceArray<float> device_logits(logits), logprobs(parameters.size());
  DeviceArray<SampleParameters> device_parameters(parameters);
  DeviceArray<std::int32_t> tokens(parameters.size());
  DeviceArray<unsigned char> workspace(sample_workspace_bytes(rows, parts));
  const std::vector<std::uint32_t> zeros(kSampleRowsAtOnce);
  DeviceArray<std::uint32_t> counters(zeros);
  const SampleRows job{rows,
                       static_cast<int>(vocab),
                       device_logits.data(),
                       device_parameters.data(),
                       tokens.data(),
                       logprobs.data(),
                       work_of(parameters),
                       parts,
                       workspace.data(),
                       counters.data()};
  for (int call = 0; call < calls; ++call) EXPECT_EQ(sample_rows(job, nullptr), cudaSuccess);
  const Sampled got{tokens.download(), logprobs.download()};
  workspace.download();
  EXPECT_EQ(counters.download(), zeros);
  return got;
}

Sampled sample(const std::vector<float>& logits, std::size_t vocab,
               const std::vector<SampleParameters>& parameters) {
  const Sampled got = sample_in_parts(logits, vocab, parameters, 1);
  const Sampled other = sample_in_parts(logits, vocab, parameters, 3);
  EXPECT_EQ(other.tokens, got.tokens);
  EXPECT_EQ(other.logprobs, got.logprobs);
  return got;
}

struct Token {
  std::int32_t id;
  float logit;
  double weight;
};

// Best first, cut by top_k.
std::vector<Token> candidates(const float* logits, std::size_t vocab, const SampleParameters& p) {
  std::vector<Token> tokens;
  for (std::size_t id = 0; id < vocab; ++id) {
    const float logit = std::isnan(logits[id])
                            ? -kInfinite
                            : std::min(logits[id], std::numeric_limits<float>::max());
    tokens.push_back({static_cast<std::int32_t>(id), logit, 0});
  }
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const Token& a, const Token& b) { return a.logit > b.logit; });
  const double best = tokens.front().logit;
  for (Token& token : tokens) token.weight = std::exp((token.logit - best) / p.temperature);
  if (p.top_k > 0 && static_cast<std::size_t>(p.top_k) < vocab) {
    tokens.resize(static_cast<std::size_t>(p.top_k));
  }
  return tokens;
}

double total_of(const std::vector<Token>& tokens) {
  double sum = 0;
  for (const Token& token : tokens) sum += token.weight;
  return sum;
}

// The tokens that lie within kMargin of `share` of the weight, in the order of ids.
void add_tokens_near(std::vector<Token> tokens, double share, std::set<std::int32_t>& to) {
  std::sort(tokens.begin(), tokens.end(),
            [](const Token& a, const Token& b) { return a.id < b.id; });
  const double total = total_of(tokens);
  double before = 0;
  for (const Token& token : tokens) {
    const double behind = before + token.weight;
    const bool is_near = before <= (share + kMargin) * total && behind > (share - kMargin) * total;
    if (is_near && token.weight > 0) to.insert(token.id);
    before = behind;
  }
}

std::set<std::int32_t> allowed_tokens(const float* logits, std::size_t vocab,
                                      const SampleParameters& p) {
  std::set<std::int32_t> allowed;
  const std::vector<Token> tokens = candidates(logits, vocab, p);
  if (p.temperature == 0) return {tokens.front().id};
  const double total = total_of(tokens);
  for (const double cut : {p.top_p - kMargin, double{p.top_p}, p.top_p + kMargin}) {
    std::vector<Token> kept;
    double sum = 0;
    for (const Token& token : tokens) {
      kept.push_back(token);
      sum += token.weight;
      if (p.top_p < 1 && sum >= cut * total) break;
    }
    add_tokens_near(std::move(kept), p.uniform, allowed);
  }
  return allowed;
}

// Every row against the oracle; returns how many had one answer only.
std::size_t expect_sampled(const std::vector<float>& logits, std::size_t vocab,
                           const std::vector<SampleParameters>& parameters) {
  const Sampled got = sample(logits, vocab, parameters);
  std::size_t unambiguous = 0;
  for (std::size_t row = 0; row < parameters.size(); ++row) {
    const SampleParameters& p = parameters[row];
    const float* own = logits.data() + row * vocab;
    const auto allowed = allowed_tokens(own, vocab, p);
    unambiguous += allowed.size() == 1;
    EXPECT_TRUE(allowed.contains(got.tokens[row]))
        << "row " << row << ", temperature " << p.temperature << ", top_k " << p.top_k << ", top_p "
        << p.top_p << ", uniform " << p.uniform << ": " << got.tokens[row] << ", not "
        << *allowed.begin();
    if (got.tokens[row] < 0) continue;
    const auto all = candidates(own, vocab, {1.0f, 0, 1.0f, 0});
    const auto token = std::find_if(all.begin(), all.end(),
                                    [&](const Token& t) { return t.id == got.tokens[row]; });
    const double logprob =
        static_cast<double>(token->logit) - all.front().logit - std::log(total_of(all));
    EXPECT_NEAR(got.logprobs[row], logprob, 1e-6 + 1e-6 * std::fabs(logprob));
  }
  return unambiguous;
}

std::vector<float> repeated(const std::vector<float>& row, std::size_t rows) {
  std::vector<float> all;
  for (std::size_t i = 0; i < rows; ++i) all.insert(all.end(), row.begin(), row.end());
  return all;
}

TEST_P(KernelTest, GreedyTokensAreTheFirstOfTheLargest) {
  for (const std::size_t vocab : {1, 2, 31, 1000, 4097, 9000}) {
    std::vector<float> logits = random_floats(2 * vocab, 1, 4.0f);
    logits[vocab / 2] = logits[vocab - 1] = 30.0f;
    logits[vocab] = -0.0f;
    if (vocab > 2) std::fill_n(logits.begin() + static_cast<std::ptrdiff_t>(vocab), 3, 25.0f);
    ASSERT_EQ(expect_sampled(logits, vocab, {{}, {}}), 2u) << vocab;
  }
  ASSERT_EQ(sample({-0.0f, 0.0f, -1.0f}, 3, {{}}).tokens[0], 0);
}

TEST_P(KernelTest, DrawsWalkTheWholeVocabularyInTheOrderOfIds) {
  const std::size_t vocab = 3001;
  std::vector<SampleParameters> parameters;
  for (const float uniform : {0.0f, 0.1f, 0.37f, 0.5f, 0.73f, 0.9f, 0.99f, 0x1.fffffep-1f}) {
    parameters.push_back({1.0f, 0, 1.0f, uniform});
    parameters.push_back({0.4f, 0, 1.0f, uniform});
  }
  const auto logits = repeated(random_floats(vocab, 2, 3.0f), parameters.size());
  ASSERT_GE(expect_sampled(logits, vocab, parameters), parameters.size() * 3 / 4);
}

TEST_P(KernelTest, TopKKeepsTheBestAndOfEqualLogitsTheLowestIds) {
  const std::size_t vocab = 2500;
  std::vector<float> row = random_floats(vocab, 3, 2.0f);
  for (std::size_t id = 100; id < vocab; id += 97) row[id] = 7.0f;  // 25 ties at the top
  std::vector<SampleParameters> parameters;
  for (const int top_k : {1, 10, 25, 26, 400, 2499, 9999}) {
    for (const float uniform : {0.02f, 0.61f, 0.997f})
      parameters.push_back({1.3f, top_k, 1.0f, uniform});
  }
  ASSERT_GE(expect_sampled(repeated(row, parameters.size()), vocab, parameters),
            parameters.size() * 3 / 4);
}

TEST_P(KernelTest, TopPKeepsTheSmallestBestFirstSet) {
  const std::size_t vocab = 2500;
  std::vector<float> row = random_floats(vocab, 4, 2.5f);
  for (std::size_t id = 5; id < vocab; id += 501) row[id] = 9.0f;  // ties inside the set
  std::vector<SampleParameters> parameters;
  for (const float top_p : {0.0f, 0.333f, 0.9f, 0.9999f}) {
    for (const float uniform : {0.0f, 0.45f, 0.999f}) {
      parameters.push_back({0.8f, 0, top_p, uniform});
      parameters.push_back({1.5f, 40, top_p, uniform});
    }
  }
  ASSERT_GE(expect_sampled(repeated(row, parameters.size()), vocab, parameters),
            parameters.size() * 3 / 4);
}

// A third of a unit of the upper half each, so most of the sums come from what the lower carries;
// rows begin at every place of a quad.
TEST_P(KernelTest, TopPSumsManySmallWeightsExactly) {
  const std::size_t vocab = 2001;
  std::vector<float> row = random_floats(vocab, 9, 0.5f);
  for (float& logit : row) logit -= 9.4f;
  row[77] = 0.0f;
  std::vector<SampleParameters> parameters;
  for (const float uniform : {0.1f, 0.83f, 0.9f, 0.97f, 0.999f}) {
    parameters.push_back({1.0f, 0, 0.93f, uniform});
  }
  ASSERT_GE(expect_sampled(repeated(row, parameters.size()), vocab, parameters), 4u);
}

TEST_P(KernelTest, TopPCutsInsideEqualLogits) {
  std::vector<SampleParameters> parameters;
  for (const float uniform : {0.1f, 0.55f, 0.95f}) {
    parameters.push_back({1.0f, 0, 0.503f, uniform});
    parameters.push_back({1.0f, 60, 0.503f, uniform});
  }
  // 100 equal logits: 51 of them, or 31 of the first 60
  ASSERT_EQ(expect_sampled(std::vector<float>(600, 0.25f), 100, parameters), 6u);
}

TEST_P(KernelTest, TiesBehindACutLeaveLaterTokensWhereTheyWere) {
  // every third logit is a better one; of the others the first 11 are kept, the 12th beside id 17
  std::vector<float> row(80, 0.0f);
  for (std::size_t id = 2; id < row.size(); id += 3) row[id] = 1.1f;
  std::vector<SampleParameters> parameters;
  for (int i = 0; i < 12; ++i) {
    parameters.push_back({1.0f, 37, 1.0f, 0.27f + 0.005f * static_cast<float>(i)});
  }
  ASSERT_EQ(expect_sampled(repeated(row, parameters.size()), 80, parameters), parameters.size());
}

TEST_P(KernelTest, LogitsThatAreNoNumbersCountAsTheHostCountsThem) {
  std::vector<float> row(40, -3.0f);
  row[3] = kNaN;
  row[7] = 2.0f;
  row[9] = kInfinite;
  row[11] = -kInfinite;
  row[12] = std::numeric_limits<float>::max();
  const Sampled got =
      sample(repeated(row, 3), 40, {{}, {1.0f, 0, 1.0f, 0.6f}, {1.0f, 2, 0.4f, 0.99f}});
  EXPECT_EQ(got.tokens[0], 9);
  EXPECT_EQ(got.tokens[1], 12);
  EXPECT_EQ(got.tokens[2], 9);
  std::vector<float> mostly(50, -kInfinite);
  mostly[20] = -1e30f;
  EXPECT_EQ(sample(mostly, 50, {{1.0f, 10, 0.9f, 0.9f}}).tokens[0], 20);
  const Sampled none =
      sample({kNaN, -kInfinite, kNaN, kNaN, 1.0f, kNaN}, 3, {{}, {1.0f, 2, 0.5f, 0.3f}});
  EXPECT_EQ(none.tokens[0], -1);
  EXPECT_EQ(none.tokens[1], 1);
  EXPECT_EQ(none.logprobs[0], -kInfinite);
}

TEST_P(KernelTest, TemperaturesTooSmallToDivideByTakeTheBest) {
  const auto row = random_floats(300, 5);
  const auto best = std::max_element(row.begin(), row.end()) - row.begin();
  for (const float temperature : {1e-30f, 1e-40f, std::numeric_limits<float>::denorm_min()}) {
    const Sampled got = sample(row, 300, {{temperature, 0, 0.9f, 0.999f}});
    EXPECT_EQ(got.tokens[0], best) << temperature;
  }
}

TEST_P(KernelTest, AnyParametersAndVocabulariesGiveTheTokenOfTheOracle) {
  std::mt19937 random(11);
  const auto one_of = [&](auto... values) {
    const std::common_type_t<decltype(values)...> all[] = {values...};
    return all[random() % sizeof...(values)];
  };
  std::size_t rows = 0, unambiguous = 0;
  for (const std::size_t vocab : {1, 2, 33, 1023, 4099}) {
    std::vector<SampleParameters> parameters;
    for (int row = 0; row < 6; ++row) {
      const auto uniform = static_cast<float>(random() >> 8) * 0x1p-24f;
      parameters.push_back({one_of(0.0f, 0.02f, 0.7f, 1.0f, 3.0f), one_of(0, 0, 1, 2, 50, 20000),
                            one_of(1e-6f, 0.5f, 0.95f, 1.0f, 1.0f), uniform});
    }
    auto logits =
        random_floats(vocab * parameters.size(), static_cast<unsigned>(vocab), one_of(1.0f, 6.0f));
    for (std::size_t i = 0; i < logits.size(); i += 5) {
      logits[i] = i % 3 == 0 ? -kInfinite : i % 7 == 0 ? kNaN : std::round(logits[i]);  // ties
    }
    for (std::size_t row = 0; row < parameters.size(); ++row) logits[row * vocab + vocab / 2] = 1;
    rows += parameters.size();
    unambiguous += expect_sampled(logits, vocab, parameters);
  }
  ASSERT_GE(unambiguous, rows * 3 / 4);
}

TEST_P(KernelTest, EqualLogitsOfAllPartsAreOneTie) {
  const std::size_t vocab = 5003;  // more candidates than a list holds
  std::vector<SampleParameters> parameters;
  for (const float uniform : {0.00013f, 0.99983f}) {
    for (const int top_k : {0, 4001}) {
      parameters.push_back({1.0f, top_k, 1.0f, uniform});
      parameters.push_back({0.5f, top_k, 0.7531f, uniform});
    }
  }
  ASSERT_GE(expect_sampled(std::vector<float>(parameters.size() * vocab, -2.5f), vocab, parameters),
            parameters.size() * 3 / 4);
}

TEST_P(KernelTest, TheMostPartsChooseWhatOneDoes) {
  const std::size_t vocab = 4099;
  const std::vector<SampleParameters> parameters = {
      {}, {1.0f, 0, 1.0f, 0.61f}, {0.9f, 60, 0.8f, 0.87f}};
  const auto logits = random_floats(vocab * parameters.size(), 13, 3.0f);
  const Sampled one = sample_in_parts(logits, vocab, parameters, 1);
  // twice: the second call finds what the first left
  const Sampled most = sample_in_parts(logits, vocab, parameters, kMaxSampleParts, 2);
  EXPECT_EQ(most.tokens, one.tokens);
  EXPECT_EQ(most.logprobs, one.logprobs);
}

TEST_P(KernelTest, MoreRowsThanALaunchTakesAreSampledAll) {
  constexpr std::size_t kRows = kSampleRowsAtOnce + 3, kVocab = 7;
  std::vector<float> logits = random_floats(kRows * kVocab, 12);
  for (std::size_t row = 0; row < kRows; ++row) logits[row * kVocab + row % kVocab] = 9.0f;
  const std::vector<SampleParameters> parameters(kRows);
  const std::vector<std::uint32_t> zeros(kSampleRowsAtOnce);
  DeviceArray<float> device_logits(logits);
  DeviceArray<SampleParameters> device_parameters(parameters);
  DeviceArray<std::int32_t> tokens(kRows);
  DeviceArray<unsigned char> workspace(sample_workspace_bytes(kRows, 1));
  DeviceArray<std::uint32_t> counters(zeros);
  const SampleRows job{kRows,
                       kVocab,
                       device_logits.data(),
                       device_parameters.data(),
                       tokens.data(),
                       nullptr,
                       SampleWork::kGreedy,
                       1,
                       workspace.data(),
                       counters.data()};
  ASSERT_EQ(sample_rows(job, nullptr), cudaSuccess);
  const auto got = tokens.download();
  for (std::size_t row = 0; row < kRows; ++row) EXPECT_EQ(got[row], row % kVocab);
}

TEST_P(KernelTest, RowsHaveAsManyPartsAsThereAreProcessorsAndLoads) {
  EXPECT_EQ(sample_parts(1, 128256, 132), 31);
  EXPECT_EQ(sample_parts(1, 262144, 132), kMaxSampleParts);
  EXPECT_EQ(sample_parts(8, 128256, 132), 16);
  EXPECT_EQ(sample_parts(64, 128256, 132), 2);
  EXPECT_EQ(sample_parts(1000, 128256, 132), 1);
  EXPECT_EQ(sample_parts(1, 32000, 132), 7);
  EXPECT_EQ(sample_parts(1, 100, 132), 1);
  EXPECT_EQ(sample_parts(0, 100, 1), 1);
}

TEST_P(KernelTest, SamplingRefusesShapesOutsideTheStatedOnes) {
  EXPECT_EQ(sample_rows({1, 0}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(sample_rows({1, kMaxVocab + 1}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(sample_rows({-1, 4}, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(sample_rows({0, 4}, nullptr), cudaSuccess);
  EXPECT_EQ(sample_rows({1, 4}, nullptr), cudaErrorInvalidValue) << "no workspace";
  SampleRows job{0, 4};
  for (const int parts : {0, kMaxSampleParts + 1}) {
    job.parts = parts;
    EXPECT_EQ(sample_rows(job, nullptr), cudaErrorInvalidValue);
  }
}

}  // namespace
}  // namespace tandem::gpu_kernels
