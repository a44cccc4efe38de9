// SPDX-License-Identifier: Apache-2.0
//
// Cases of attention of many query rows: their launch and their naive answers.
//
// The oracle is a loop in double precision over K and V as stored: in the pages of the test's own
// pool, or in the workspace that the call has filled.
#pragma once

#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "attention/prefill.h"
#include "gpu_kernels/device_array.h"

namespace tandem::gpu_kernels {

// Cases that run on both paths; buckets of shapes that the Hopper path does not take are of the
// generic one, so these cases run on that twice.
class PrefillTest : public ::testing::TestWithParam<std::tuple<int, KernelPath>> {
 protected:
  void SetUp() override;
  void TearDown() override;
};

struct PrefillCase {
  PrefillShape shape{.q_heads = 4, .kv_heads = 2, .head_dim = 64};
  float softcap = 0.0f;
  float q_size = 1.0f;  // standard deviations
  float k_size = 1.0f;
  std::vector<PrefillSequence> sequences;
  std::size_t o_offset = 0;             // floats in front of o, paged only
  int max_sequences = 0, max_rows = 0;  // of the bucket; 0: just enough
};

// Rows first..first + rows - 1 are chunks of the given sizes, with a row of no chunk behind each.
std::vector<PrefillSequence> ragged_chunks(const std::vector<int>& sizes);

struct PrefillRows {
  std::vector<float> q, k, v;  // [rows, heads, head_dim]
  std::size_t rows = 0;
};
PrefillRows random_rows(const PrefillCase& of, unsigned seed);

struct PrefillAnswer {
  std::vector<float> o, lse;
  std::vector<unsigned char> workspace;
};
PrefillAnswer run_causal(const PrefillCase& of, const PrefillRows& rows);

// A pool of random values on the host, and the page list of the case's sequences.
struct PrefillPool {
  KvPool pool;  // no pointers
  std::vector<unsigned char> values;
  std::vector<float> scales;
  std::vector<std::uint32_t> pages;
};
// Gives every sequence of the case `pages_each` pages of its own, anywhere in the pool.
PrefillPool random_pool(PrefillCase& of, int pages_each, unsigned seed);
PrefillAnswer run_paged(const PrefillCase& of, const PrefillRows& rows, const PrefillPool& pool);

// What the stored bytes of a row say; [head_dim].
std::vector<double> stored_row(const KvPool& pool, const unsigned char* values, const float* scales,
                               std::size_t row);

// Compares every head of every row of the case's sequences with the naive answer, and sees that
// other rows are as they were. bound: of the NMSE of a head.
void expect_causal(const PrefillCase& of, const PrefillRows& rows, const PrefillAnswer& answer,
                   double bound);
void expect_paged(const PrefillCase& of, const PrefillRows& rows, const PrefillPool& pool,
                  const PrefillAnswer& answer, double bound);

}  // namespace tandem::gpu_kernels
