// SPDX-License-Identifier: Apache-2.0
//
// The next token of every row of logits: the largest, or a draw by a given uniform number.
//
// Order and rules of host/model/sampler: NaN counts as -inf and +inf as the largest float;
// temperature 0 takes the largest logit, of equal ones the lowest id; else weights are
// e^((logit - best) / temperature), top_k keeps the best (of equal logits the lower ids), top_p the
// smallest best-first set with at least that share of what top_k left (one at least), and the draw
// walks the kept tokens in the order of ids until their weight exceeds uniform * total. A row
// without a finite logit gives token -1.
// Weights are counted in whole units of 2^-44 of the best one's, so that sums do not depend on
// their order and the result is the same on every run and for every number of parts. Where this may
// choose another token than the host: a uniform or a cut within some 1e-7 of the total from a
// boundary between two tokens (exponentials round otherwise, weights below one unit are none, the
// host sums in double); and the host walks tokens that top_k or top_p cut in an order of its own,
// so there only the distribution is the same.
// Graph-safe: up to three launches, of `parts` blocks per row; parameters stand in device memory
// and may change between launches within `work`. Nothing is sorted. Cost: the logits once for the
// best, once more where rows draw and a third time where they cut, from the cache then; of the last
// one part again; log-probabilities come with the second. Where the cuts lie among too many nearly
// equal logits to list (some thousand), one block reads the row up to nine times more.
// Limits: vocab at most 2^19.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tandem::gpu_kernels {

inline constexpr int kMaxVocab = 1 << 19;
inline constexpr int kSampleRowsAtOnce = 256;  // more rows are as many more launches
inline constexpr int kMaxSampleParts = 32;

struct SampleParameters {
  float temperature = 0;   // 0: the largest
  std::int32_t top_k = 0;  // 0: off
  float top_p = 1.0f;      // 1: off
  float uniform = 0;       // in [0, 1)
};

// The most that any row asks for: a launch each.
enum class SampleWork : std::uint8_t { kGreedy, kDraws, kCuts };

struct SampleRows {
  std::int64_t rows = 0;
  int vocab = 0;
  const float* logits = nullptr;                 // [rows, vocab]
  const SampleParameters* parameters = nullptr;  // [rows]
  std::int32_t* tokens = nullptr;                // [rows], device memory or mapped host memory
  float* logprobs = nullptr;  // [rows] log-softmax of the logits as they came, or none
  SampleWork work = SampleWork::kCuts;
  int parts = 1;                      // 1..kMaxSampleParts; sample_parts()
  void* workspace = nullptr;          // [sample_workspace_bytes()], aligned to 16
  std::uint32_t* counters = nullptr;  // [kSampleRowsAtOnce], zeros before the first call; what a
                                      // call leaves serves the next
};

// Blocks per row: as many as there are multiprocessors for the rows, each with a load for every
// thread.
inline int sample_parts(std::int64_t rows, int vocab, int processors) {
  constexpr int kLeastTokens = 4096;
  const std::int64_t at_once = rows < 1 ? 1 : rows < kSampleRowsAtOnce ? rows : kSampleRowsAtOnce;
  std::int64_t parts = processors / at_once;
  if (parts > vocab / kLeastTokens) parts = vocab / kLeastTokens;
  if (parts > kMaxSampleParts) parts = kMaxSampleParts;
  return parts < 1 ? 1 : static_cast<int>(parts);
}
std::size_t sample_workspace_bytes(std::int64_t rows, int parts);

cudaError_t sample_rows(const SampleRows& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
