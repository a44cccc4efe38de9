// SPDX-License-Identifier: Apache-2.0
//
// A pool of random pages, one run through the public launcher, and the naive loop.
#include "gpu_kernels/attention/decode_batch.h"

#include <algorithm>
#include <numeric>

namespace tandem::gpu_kernels {
namespace {

int pages_of(const DecodeSetup& setup, const DecodeSequence& sequence) {
  return (sequence.num_attend + setup.page_tokens - 1) / setup.page_tokens;
}

KvPool pool_shape(const DecodeSetup& setup, const std::vector<DecodeSequence>& sequences) {
  KvPool pool;
  pool.type = setup.type;
  pool.num_layers = 2;
  pool.kv_heads = setup.kv_heads;
  pool.head_dim = setup.head_dim;
  pool.page_tokens = setup.page_tokens;
  pool.num_pages = 3;
  for (const DecodeSequence& sequence : sequences) {
    pool.num_pages += static_cast<unsigned>(pages_of(setup, sequence));
  }
  return pool;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Runs, DecodeTest,
                         ::testing::Combine(::testing::ValuesIn(runs()),
                                            ::testing::Values(KernelPath::kGeneric,
                                                              KernelPath::kHopper)),
                         [](const auto& info) {
                           const KernelPath path = std::get<1>(info.param);
                           return name_of_run(std::get<0>(info.param)) +
                                  (path == KernelPath::kHopper ? "Hopper" : "Generic");
                         });

void DecodeTest::SetUp() {
  start_or_skip(std::get<0>(GetParam()));
  if (IsSkipped() || runs_path(std::get<1>(GetParam()))) return;
  GTEST_SKIP() << "the code here is for less than compute capability 9.0";
}

DecodeSetup DecodeTest::usual() const {
  DecodeSetup setup;
  setup.path = std::get<1>(GetParam());
  return setup;
}

DecodeBatch::DecodeBatch(const DecodeSetup& setup, const std::vector<DecodeSequence>& sequences)
    : setup_(setup), pool_(pool_shape(setup, sequences), setup.seed) {
  std::mt19937 random(setup.seed + 100);
  std::vector<std::uint32_t> deck(pool_.shape().num_pages);
  std::iota(deck.begin(), deck.end(), 0u);
  std::shuffle(deck.begin(), deck.end(), random);
  for (const DecodeSequence& sequence : sequences) {
    DecodeGroup group;
    group.row_begin = static_cast<std::int32_t>(rows_.size());
    group.num_rows = sequence.num_q;
    group.page_begin = static_cast<std::int32_t>(pages_.size());
    group.attend_begin = sequence.attend_begin;
    group.num_attend = sequence.num_attend;
    groups_.push_back(group);
    for (int i = 0; i < sequence.num_q; ++i) rows_.push_back(num_rows_++);
    ++num_rows_;  // the spare one
    for (int i = 0; i < pages_of(setup, sequence); ++i) {
      pages_.push_back(deck.back());
      deck.pop_back();
    }
  }
  std::normal_distribution<float> normal(0.0f, setup.q_size);
  q_.resize(q_index(num_rows_, 0, 0));
  for (float& value : q_) value = normal(random);
}

std::size_t DecodeBatch::q_index(int row, int head, int d) const {
  return (static_cast<std::size_t>(row) * static_cast<unsigned>(q_heads()) +
          static_cast<unsigned>(head)) *
             static_cast<unsigned>(setup_.head_dim) +
         static_cast<unsigned>(d);
}

std::size_t DecodeBatch::kv_row_of(int sequence, bool is_v, int kv_head, int token) const {
  const auto at = static_cast<std::size_t>(groups_[static_cast<std::size_t>(sequence)].page_begin +
                                           token / setup_.page_tokens);
  return pool_.row(kLayer, pages_[at], is_v, kv_head, token % setup_.page_tokens);
}

DecodeShape DecodeBatch::shape() const {
  DecodeShape shape;
  shape.type = setup_.type;
  shape.q_heads = q_heads();
  shape.kv_heads = setup_.kv_heads;
  shape.head_dim = setup_.head_dim;
  shape.page_tokens = setup_.page_tokens;
  shape.num_processors = setup_.num_processors;
  shape.path = setup_.path;
  return shape;
}

void DecodeBatch::run() {
  int most = 1;
  for (const DecodeGroup& group : groups_) most = std::max(most, group.num_rows);
  run(make_decode_bucket(shape(), static_cast<int>(groups_.size()),
                         std::max(1, static_cast<int>(rows_.size())), most));
}

void DecodeBatch::run(const DecodeBucket& bucket, std::span<const DecodeGroup> groups,
                      std::span<const std::int32_t> rows, int levels) {
  ASSERT_GT(bucket.num_blocks, 0);
  ASSERT_EQ(bucket.shape.path, setup_.path);
  std::vector<std::byte> plan(bucket.plan_bytes);
  ASSERT_TRUE(plan_decode(bucket, groups, rows, plan));
  DeviceArray<std::byte> device_plan(plan), workspace(bucket.workspace_bytes);
  DeviceArray<float> device_q(q_), device_o(q_.size() * static_cast<unsigned>(levels));
  const auto num_lse = static_cast<std::size_t>(num_rows_ * q_heads() * levels);
  DeviceArray<float> device_lse(num_lse);
  DeviceArray<std::uint32_t> device_pages(pages_);
  DecodeAttention job;
  job.pool = pool_.upload();
  job.layer = kLayer;
  job.scale = setup_.scale;
  job.softcap = setup_.softcap;
  job.q = device_q.data();
  job.pages = device_pages.data();
  job.plan = device_plan.data();
  job.workspace = workspace.data();
  job.o = device_o.data();
  job.lse = device_lse.data();
  ASSERT_EQ(decode_attention(bucket, job, nullptr), cudaSuccess);
  o = device_o.download();
  lse = device_lse.download();
  workspace.download();  // for its fences
}

DecodeBatch::Expected DecodeBatch::reference(int sequence, int row, int head) const {
  const DecodeGroup& group = groups_[static_cast<std::size_t>(sequence)];
  const int kv_head = head / setup_.group;
  std::vector<double> scores;
  double peak = -std::numeric_limits<double>::infinity();
  for (int token = group.attend_begin; token < group.num_attend; ++token) {
    const std::size_t k = kv_row_of(sequence, false, kv_head, token);
    double score = 0;
    for (int d = 0; d < setup_.head_dim; ++d) {
      score += static_cast<double>(q_[q_index(row, head, d)]) * pool_.value(k, d);
    }
    score *= static_cast<double>(setup_.scale);
    if (setup_.softcap > 0) {
      const double cap = static_cast<double>(setup_.softcap);
      score = cap * std::tanh(score / cap);
    }
    scores.push_back(score);
    peak = std::fmax(peak, score);
  }
  Expected expected{std::vector<double>(static_cast<std::size_t>(setup_.head_dim), 0.0), 0};
  double sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double weight = std::exp(scores[i] - peak);
    sum += weight;
    const std::size_t v =
        kv_row_of(sequence, true, kv_head, group.attend_begin + static_cast<int>(i));
    for (int d = 0; d < setup_.head_dim; ++d) {
      expected.o[static_cast<std::size_t>(d)] += weight * pool_.value(v, d);
    }
  }
  for (double& value : expected.o) value = scores.empty() ? 0 : value / sum;
  expected.lse = scores.empty() ? peak : peak + std::log(sum);
  return expected;
}

void DecodeBatch::expect_rows(double bound) {
  for (std::size_t sequence = 0; sequence < groups_.size(); ++sequence) {
    const DecodeGroup& group = groups_[sequence];
    double largest = 1e-30;
    for (int token = group.attend_begin; token < group.num_attend; ++token) {
      for (int head = 0; head < setup_.kv_heads; ++head) {
        const std::size_t v = kv_row_of(static_cast<int>(sequence), true, head, token);
        for (int d = 0; d < setup_.head_dim; ++d) {
          largest = std::fmax(largest, std::fabs(pool_.value(v, d)));
        }
      }
    }
    for (int i = 0; i < group.num_rows; ++i) {
      const int row = rows_[static_cast<std::size_t>(group.row_begin + i)];
      for (int head = 0; head < q_heads(); ++head) {
        const Expected expected = reference(static_cast<int>(sequence), row, head);
        const double got = lse[static_cast<std::size_t>(row * q_heads() + head)];
        if (std::isinf(expected.lse)) {
          ASSERT_EQ(got, expected.lse) << "sequence " << sequence << " head " << head;
        } else {
          ASSERT_NEAR(got, expected.lse, bound * (1 + std::fabs(expected.lse)))
              << "sequence " << sequence << " row " << row << " head " << head;
        }
        for (int d = 0; d < setup_.head_dim; ++d) {
          ASSERT_NEAR(o[q_index(row, head, d)], expected.o[static_cast<std::size_t>(d)],
                      bound * largest)
              << "sequence " << sequence << " row " << row << " head " << head << " d " << d;
        }
      }
    }
  }
}

void DecodeBatch::expect_reference(double bound) {
  expect_rows(bound);
  expect_spare_rows_untouched();
}

void DecodeBatch::expect_spare_rows_untouched() const {
  float pattern;
  std::fill_n(reinterpret_cast<unsigned char*>(&pattern), sizeof(pattern), 0xa5);
  std::vector<bool> used(static_cast<std::size_t>(num_rows_), false);
  for (const std::int32_t row : rows_) used[static_cast<std::size_t>(row)] = true;
  for (int row = 0; row < num_rows_; ++row) {
    if (used[static_cast<std::size_t>(row)]) continue;
    EXPECT_EQ(o[q_index(row, 0, 0)], pattern);
    EXPECT_EQ(lse[static_cast<std::size_t>(row * q_heads())], pattern);
  }
}

}  // namespace tandem::gpu_kernels
