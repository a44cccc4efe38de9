// SPDX-License-Identifier: Apache-2.0
//
// A batch of decode attention over a random pool: planned, run, and compared with a naive loop in
// double precision over the stored values.
#pragma once

#include <limits>
#include <span>
#include <tuple>

#include "attention/decode.h"
#include "gpu_kernels/kv_cache/random_pool.h"

namespace tandem::gpu_kernels {

struct DecodeSequence {
  int num_q = 1;
  int attend_begin = 0, num_attend = 0;
};

struct DecodeSetup {
  KvType type = KvType::kF16;
  int kv_heads = 2, group = 4, head_dim = 64, page_tokens = 16;
  float scale = 0.125f, softcap = 0;
  int num_processors = 2;
  float q_size = 1.0f;
  unsigned seed = 1;
  KernelPath path = KernelPath::kGeneric;
};

// Cases that run on both paths.
class DecodeTest : public ::testing::TestWithParam<std::tuple<int, KernelPath>> {
 protected:
  void SetUp() override;
  DecodeSetup usual() const;  // of the path
};

class DecodeBatch {
 public:
  DecodeBatch(const DecodeSetup& setup, const std::vector<DecodeSequence>& sequences);

  RandomPool& pool() { return pool_; }
  std::vector<float>& q() { return q_; }  // [rows, q_heads, head_dim]; a spare row behind each
  std::size_t q_index(int row, int head, int d) const;
  std::size_t kv_row_of(int sequence, bool is_v, int kv_head, int token) const;
  const std::vector<DecodeGroup>& groups() const { return groups_; }
  const std::vector<std::int32_t>& rows() const { return rows_; }
  const std::vector<std::uint32_t>& pages() const { return pages_; }
  std::vector<std::uint32_t>& pages() { return pages_; }
  DecodeShape shape() const;
  int num_rows() const { return num_rows_; }
  int q_heads() const { return setup_.kv_heads * setup_.group; }

  // Runs in a bucket made for this batch alone, or in the one given.
  void run();
  void run(const DecodeBucket& bucket) { run(bucket, groups_, rows_, 1); }
  // Results of `levels` times the rows.
  void run(const DecodeBucket& bucket, std::span<const DecodeGroup> groups,
           std::span<const std::int32_t> rows, int levels);

  // Compares every row of every group. Errors of O are relative to the largest value in V.
  void expect_rows(double bound);
  void expect_reference(double bound);  // and that the spare rows are untouched

  std::vector<float> o, lse;  // of the last run

 private:
  struct Expected {
    std::vector<double> o;
    double lse;
  };
  Expected reference(int sequence, int row, int head) const;
  void expect_spare_rows_untouched() const;

  DecodeSetup setup_;
  std::vector<DecodeGroup> groups_;
  std::vector<std::int32_t> rows_;
  std::vector<std::uint32_t> pages_;
  RandomPool pool_;
  int num_rows_ = 0;
  std::vector<float> q_;
};

constexpr int kLayer = 1;  // of two

}  // namespace tandem::gpu_kernels
