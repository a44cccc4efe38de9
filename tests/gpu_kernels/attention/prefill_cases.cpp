// SPDX-License-Identifier: Apache-2.0
//
// Buckets, plans and device arrays of one call; naive loops.
#include "gpu_kernels/attention/prefill_cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "tensor/dtype.h"

namespace tandem::gpu_kernels {
namespace {

constexpr float kScale = 0.25f;
constexpr float kUntouched = -0x1.4b4b4ap-52f;  // DeviceArray's pattern, read as a float

KernelPath path_of_test = KernelPath::kGeneric;

PrefillBucket bucket_of(const PrefillCase& of) {
  PrefillShape shape = of.shape;
  shape.path = path_of_test;
  int rows = 0;
  for (const PrefillSequence& sequence : of.sequences) rows += sequence.num_q;
  return make_prefill_bucket(
      shape, of.max_sequences > 0 ? of.max_sequences : static_cast<int>(of.sequences.size()),
      of.max_rows > 0 ? of.max_rows : std::max(rows, 1));
}

std::vector<std::byte> plan_of(const PrefillCase& of, const PrefillBucket& bucket) {
  std::vector<std::byte> plan(bucket.plan_bytes);
  EXPECT_TRUE(plan_prefill(bucket, of.sequences, plan));
  return plan;
}

struct Tokens {
  std::vector<std::vector<double>> k, v;
};

// The naive answer of one query head to `tokens`.
void expect_head(const PrefillCase& of, const float* q, const Tokens& tokens, const float* o,
                 float lse, double bound) {
  const auto dim = static_cast<std::size_t>(of.shape.head_dim);
  std::vector<double> scores, want(dim, 0.0);
  for (const std::vector<double>& k : tokens.k) {
    double score = 0.0;
    for (std::size_t d = 0; d < dim; ++d) score += static_cast<double>(q[d]) * k[d];
    score *= kScale;
    const double cap = of.softcap;
    scores.push_back(cap > 0.0 ? cap * std::tanh(score / cap) : score);
  }
  if (scores.empty()) {
    ASSERT_EQ(lse, -std::numeric_limits<float>::infinity());
    for (std::size_t d = 0; d < dim; ++d) ASSERT_EQ(o[d], 0.0f);
    return;
  }
  const double peak = *std::max_element(scores.begin(), scores.end());
  double sum = 0.0, error = 0.0, size = 0.0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double weight = std::exp(scores[i] - peak);
    sum += weight;
    for (std::size_t d = 0; d < dim; ++d) want[d] += weight * tokens.v[i][d];
  }
  for (std::size_t d = 0; d < dim; ++d) {
    error += std::pow(want[d] / sum - static_cast<double>(o[d]), 2.0);
    size += std::pow(want[d] / sum, 2.0);
  }
  ASSERT_LE(error, bound * size);
  const double want_lse = peak + std::log(sum);
  ASSERT_NEAR(lse, want_lse, 4.0 * std::sqrt(bound) * (1.0 + std::fabs(want_lse)));
}

using SeenTokens =
    std::function<Tokens(const PrefillSequence&, std::size_t sequence_index, int row, int kv_head)>;

void expect_heads(const PrefillCase& of, const PrefillRows& rows, const PrefillAnswer& answer,
                  double bound, const SeenTokens& seen) {
  const int heads = of.shape.q_heads, group = heads / of.shape.kv_heads;
  const auto dim = static_cast<std::size_t>(of.shape.head_dim);
  std::vector<bool> answered(rows.rows, false);
  for (std::size_t index = 0; index < of.sequences.size(); ++index) {
    const PrefillSequence& sequence = of.sequences[index];
    for (int row = 0; row < sequence.num_q; ++row) {
      const auto at = static_cast<std::size_t>(sequence.q_begin + row);
      answered[at] = true;
      for (int head = 0; head < heads; ++head) {
        SCOPED_TRACE(testing::Message()
                     << "sequence " << index << ", row " << row << ", head " << head);
        const std::size_t place =
            at * static_cast<std::size_t>(heads) + static_cast<std::size_t>(head);
        expect_head(of, rows.q.data() + place * dim, seen(sequence, index, row, head / group),
                    answer.o.data() + place * dim, answer.lse[place], bound);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  const std::size_t width = static_cast<std::size_t>(heads) * dim;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    if (answered[row]) continue;
    for (std::size_t i = 0; i < width; ++i) ASSERT_EQ(answer.o[row * width + i], kUntouched) << row;
  }
}

template <typename T>
void fill_normal(std::vector<T>& values, float size, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0f, size);
  for (T& value : values) value = normal(random);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Runs, PrefillTest,
                         ::testing::Combine(::testing::ValuesIn(runs()),
                                            ::testing::Values(KernelPath::kGeneric,
                                                              KernelPath::kHopper)),
                         [](const auto& info) {
                           const KernelPath path = std::get<1>(info.param);
                           return name_of_run(std::get<0>(info.param)) +
                                  (path == KernelPath::kHopper ? "Hopper" : "Generic");
                         });

void PrefillTest::SetUp() {
  start_or_skip(std::get<0>(GetParam()));
  if (IsSkipped()) return;
  path_of_test = std::get<1>(GetParam());
  if (path_of_test == KernelPath::kHopper && !has_hopper_prefill()) {
    GTEST_SKIP() << "products of warpgroups need compute capability 9.0";
  }
}

void PrefillTest::TearDown() { path_of_test = KernelPath::kGeneric; }

std::vector<PrefillSequence> ragged_chunks(const std::vector<int>& sizes) {
  std::vector<PrefillSequence> chunks;
  int row = 1;
  for (const int size : sizes) {
    chunks.push_back({.q_begin = row, .num_q = size});
    row += size + 1;
  }
  return chunks;
}

PrefillRows random_rows(const PrefillCase& of, unsigned seed) {
  PrefillRows rows;
  for (const PrefillSequence& sequence : of.sequences) {
    rows.rows =
        std::max(rows.rows, static_cast<std::size_t>(sequence.q_begin + sequence.num_q + 1));
  }
  std::mt19937 random(seed);
  const auto dim = static_cast<std::size_t>(of.shape.head_dim);
  rows.q.resize(rows.rows * static_cast<std::size_t>(of.shape.q_heads) * dim);
  rows.k.resize(rows.rows * static_cast<std::size_t>(of.shape.kv_heads) * dim);
  rows.v.resize(rows.k.size());
  fill_normal(rows.q, of.q_size, random);
  fill_normal(rows.k, of.k_size, random);
  fill_normal(rows.v, 1.0f, random);
  return rows;
}

PrefillAnswer run_causal(const PrefillCase& of, const PrefillRows& rows) {
  const PrefillBucket bucket = bucket_of(of);
  DeviceArray<std::byte> plan(plan_of(of, bucket));
  DeviceArray<float> q(rows.q), k(rows.k), v(rows.v), o(rows.q.size());
  DeviceArray<float> lse(rows.rows * static_cast<std::size_t>(of.shape.q_heads));
  DeviceArray<unsigned char> workspace(bucket.workspace_bytes);
  CausalAttention job;
  job.attention = {plan.data(), kScale, of.softcap, q.data(), o.data(), lse.data()};
  job.k = k.data();
  job.v = v.data();
  job.workspace = workspace.data();
  EXPECT_EQ(causal_attention(bucket, job, nullptr), cudaSuccess);
  return {o.download(), lse.download(), workspace.download()};
}

PrefillPool random_pool(PrefillCase& of, int pages_each, unsigned seed) {
  PrefillPool made;
  const auto num_sequences = static_cast<int>(of.sequences.size());
  made.pool = {.type = of.shape.type,
               .num_layers = 2,
               .kv_heads = of.shape.kv_heads,
               .head_dim = of.shape.head_dim,
               .page_tokens = of.shape.page_tokens,
               .num_pages = static_cast<std::uint32_t>(num_sequences * pages_each + 3)};
  std::mt19937 random(seed);
  std::vector<std::uint32_t> ids(made.pool.num_pages);
  std::iota(ids.begin(), ids.end(), 0u);
  std::shuffle(ids.begin(), ids.end(), random);
  made.pages.assign(ids.begin(), ids.begin() + num_sequences * pages_each);
  for (int i = 0; i < num_sequences; ++i) {
    of.sequences[static_cast<std::size_t>(i)].page_begin = i * pages_each;
  }
  made.values.assign(kv_values_bytes(made.pool), 0);
  made.scales.assign(kv_scales_bytes(made.pool) / sizeof(float), 0.0f);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> scale(0.002f, 0.02f);
  for (float& value : made.scales) value = scale(random);
  const auto width = static_cast<std::size_t>(kv_row_values(of.shape.head_dim));
  const auto bytes = static_cast<std::size_t>(value_bytes_of(of.shape.type));
  for (std::size_t at = 0; at < made.values.size() / bytes; ++at) {
    if (at % width >= static_cast<std::size_t>(of.shape.head_dim)) continue;  // padding
    const float value = normal(random);
    std::uint16_t word = 0;
    if (of.shape.type == KvType::kF16) word = f32_to_f16(value);
    if (of.shape.type == KvType::kBF16) word = f32_to_bf16(value);
    if (of.shape.type == KvType::kE4M3) word = f32_to_f8(value * 100.0f);
    if (of.shape.type == KvType::kI8) {
      word = static_cast<std::uint8_t>(
          static_cast<std::int8_t>(std::clamp(std::lround(value * 50.0f), -127l, 127l)));
    }
    std::memcpy(made.values.data() + at * bytes, &word, bytes);
  }
  return made;
}

PrefillAnswer run_paged(const PrefillCase& of, const PrefillRows& rows, const PrefillPool& made) {
  const PrefillBucket bucket = bucket_of(of);
  DeviceArray<std::byte> plan(plan_of(of, bucket));
  DeviceArray<float> q(rows.q), o(of.o_offset + rows.q.size()), scales(made.scales);
  DeviceArray<float> lse(rows.rows * static_cast<std::size_t>(of.shape.q_heads));
  DeviceArray<unsigned char> values(made.values);
  DeviceArray<std::uint32_t> pages(made.pages);
  PagedAttention job;
  job.attention = {plan.data(), kScale, of.softcap, q.data(), o.data() + of.o_offset, lse.data()};
  job.pool = made.pool;
  job.pool.values = values.data();
  job.pool.scales = scales.data();
  job.layer = 1;
  job.pages = pages.data();
  EXPECT_EQ(paged_attention(bucket, job, nullptr), cudaSuccess);
  std::vector<float> answer = o.download();
  answer.erase(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(of.o_offset));
  return {std::move(answer), lse.download(), {}};
}

std::vector<double> stored_row(const KvPool& pool, const unsigned char* values, const float* scales,
                               std::size_t row) {
  const auto width = static_cast<std::size_t>(kv_row_values(pool.head_dim));
  const auto bytes = static_cast<std::size_t>(value_bytes_of(pool.type));
  std::vector<double> widened(static_cast<std::size_t>(pool.head_dim));
  for (std::size_t d = 0; d < widened.size(); ++d) {
    std::uint16_t word = 0;
    std::memcpy(&word, values + (row * width + d) * bytes, bytes);
    double value = 0.0;
    if (pool.type == KvType::kF16) value = f16_to_f32(word);
    if (pool.type == KvType::kBF16) value = bf16_to_f32(word);
    if (pool.type == KvType::kE4M3) value = f8_to_f32(static_cast<std::uint8_t>(word));
    if (pool.type == KvType::kI8) value = static_cast<std::int8_t>(word);
    widened[d] = has_scales(pool.type) ? value * static_cast<double>(scales[row]) : value;
  }
  return widened;
}

// K and V of the chunks of a causal call: as given, or as they stand in the workspace.
class ChunkTokens {
 public:
  ChunkTokens(const PrefillCase& of, const PrefillRows& rows, const PrefillAnswer& answer)
      : of_(of), rows_(rows), answer_(answer), bucket_(bucket_of(of)), plan_(plan_of(of, bucket_)) {
    for (const PrefillSequence& sequence : of.sequences) {
      first_place_.push_back(num_places_);
      num_places_ += static_cast<std::size_t>(sequence.num_q);
    }
  }

  const Tokens& of_head(std::size_t index, int kv_head) {
    const std::size_t key =
        index * static_cast<std::size_t>(of_.shape.kv_heads) + static_cast<std::size_t>(kv_head);
    if (key == held_) return all_;
    held_ = key;
    all_ = {};
    const PrefillSequence& sequence = of_.sequences[index];
    for (int token = 0; token < sequence.num_q; ++token) {
      const std::size_t place = first_place_[index] + static_cast<std::size_t>(token);
      all_.k.push_back(row(place, sequence.q_begin + token, kv_head, false));
      all_.v.push_back(row(place, sequence.q_begin + token, kv_head, true));
    }
    return all_;
  }

 private:
  std::vector<double> row(std::size_t at, int token_row, int kv_head, bool is_v) const {
    if (of_.shape.unrounded) {
      const auto dim = static_cast<std::size_t>(of_.shape.head_dim);
      const float* from = (is_v ? rows_.v : rows_.k).data() +
                          static_cast<std::size_t>(token_row * of_.shape.kv_heads + kv_head) * dim;
      return std::vector<double>(from, from + dim);
    }
    const KvPool pool = workspace_pool(bucket_, nullptr);
    const KvPlace& place = view_prefill_plan(bucket_, plan_.data()).places[at];
    EXPECT_EQ(place.row, token_row);
    const unsigned char* values = answer_.workspace.data();
    return stored_row(pool, values, reinterpret_cast<const float*>(values + kv_values_bytes(pool)),
                      kv_row(pool, 0, place.page, is_v, kv_head, place.token));
  }

  const PrefillCase& of_;
  const PrefillRows& rows_;
  const PrefillAnswer& answer_;
  PrefillBucket bucket_;
  std::vector<std::byte> plan_;
  std::vector<std::size_t> first_place_;
  std::size_t num_places_ = 0;
  Tokens all_;
  std::size_t held_ = ~std::size_t{0};
};

void expect_causal(const PrefillCase& of, const PrefillRows& rows, const PrefillAnswer& answer,
                   double bound) {
  ChunkTokens tokens(of, rows, answer);
  expect_heads(of, rows, answer, bound,
               [&](const PrefillSequence&, std::size_t index, int row, int kv_head) {
                 const Tokens& all = tokens.of_head(index, kv_head);
                 const int begin = of.shape.window > 0 ? std::max(0, row + 1 - of.shape.window) : 0;
                 return Tokens{{all.k.begin() + begin, all.k.begin() + row + 1},
                               {all.v.begin() + begin, all.v.begin() + row + 1}};
               });
}

void expect_paged(const PrefillCase& of, const PrefillRows& rows, const PrefillPool& made,
                  const PrefillAnswer& answer, double bound) {
  Tokens all;
  std::size_t held = ~std::size_t{0};
  expect_heads(of, rows, answer, bound,
               [&](const PrefillSequence& sequence, std::size_t index, int, int kv_head) {
                 const std::size_t key = index * static_cast<std::size_t>(of.shape.kv_heads) +
                                         static_cast<std::size_t>(kv_head);
                 if (key == held) return all;
                 held = key;
                 all = {};
                 for (int token = sequence.attend_begin; token < sequence.num_attend; ++token) {
                   const std::uint32_t page = made.pages[static_cast<std::size_t>(
                       sequence.page_begin + token / made.pool.page_tokens)];
                   const auto row = [&](bool is_v) {
                     return stored_row(
                         made.pool, made.values.data(), made.scales.data(),
                         kv_row(made.pool, 1, page, is_v, kv_head, token % made.pool.page_tokens));
                   };
                   all.k.push_back(row(false));
                   all.v.push_back(row(true));
                 }
                 return all;
               });
}

}  // namespace tandem::gpu_kernels
