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
// their order and the result is the same on every run. Where this may choose another token than the
// host: a uniform or a cut within some 1e-7 of the total from a boundary between two tokens
// (exponentials round otherwise, weights below one unit are none, the host sums in double); and the
// host walks tokens that top_k or top_p cut in an order of its own, so there only the distribution
// is the same. Graph-safe: one launch, no workspace, one block per row; parameters stand in device
// memory and may change between launches. Nothing is sorted: cuts are found by radix selection over
// the bits of the logits, 11 at a time. Cost: passes over a row from the cache: 1 when greedy, 3
// without cuts, 6 with top_k or top_p, 9 with both; one more for log-probabilities. Limits: vocab
// at most 2^19. One block bounds a row's speed by what one multiprocessor reads.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace tandem::gpu_kernels {

inline constexpr int kMaxVocab = 1 << 19;

struct SampleParameters {
  float temperature = 0;   // 0: the largest
  std::int32_t top_k = 0;  // 0: off
  float top_p = 1.0f;      // 1: off
  float uniform = 0;       // in [0, 1)
};

struct SampleRows {
  std::int64_t rows = 0;
  int vocab = 0;
  const float* logits = nullptr;                 // [rows, vocab]
  const SampleParameters* parameters = nullptr;  // [rows]
  std::int32_t* tokens = nullptr;                // [rows], device memory or mapped host memory
  float* logprobs = nullptr;  // [rows] log-softmax of the logits as they came, or none
};

cudaError_t sample_rows(const SampleRows& job, cudaStream_t stream);

}  // namespace tandem::gpu_kernels
