// SPDX-License-Identifier: Apache-2.0
//
// Chooses the next token of every row of logits: the largest, or a draw by a given uniform number.
//
// The rules are those of host/model/sampler. Weights are integers in units of 2^-44 of the largest
// weight. So sums do not depend on their order, and every run and every number of parts gives the
// same result. Graph-safe: up to three launches, of `parts` blocks per row. Parameters are in
// device memory and may change between launches within `work`. Limits: vocab at most 2^19. Cost:
// the logits are read once for the largest, once more for rows that draw (and for
// log-probabilities), a third time for rows with top_k or top_p, and one part of the row once more.
// Nothing is sorted. If some thousand nearly equal logits are at the limit of top_k or top_p, one
// block reads the row up to nine times more.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tandem::gpu_kernels {

inline constexpr int kMaxVocab = 1 << 19;
inline constexpr int kSampleRowsAtOnce = 256;  // further rows need further launches
inline constexpr int kMaxSampleParts = 32;

struct SampleParameters {
  float temperature = 0;   // 0: the largest
  std::int32_t top_k = 0;  // 0: off
  float top_p = 1.0f;      // 1: off
  float uniform = 0;       // in [0, 1)
};

// The most work that any row needs: each kind adds a launch.
enum class SampleWork : std::uint8_t { kGreedy, kDraws, kCuts };

// NaN counts as -inf and +inf as the largest float. Temperature 0 takes the largest logit; of equal
// ones the lowest id. Otherwise weights are e^((logit - best) / temperature). top_k keeps the best
// (of equal logits the lower ids). top_p keeps the smallest best-first set with at least that share
// of the weight that top_k keeps, and at least one token. The draw adds the kept tokens' weights in
// the order of ids until the sum exceeds uniform * total. A row without a finite logit gives token
// -1.
// The host may choose another token when a uniform or a cut is within some 1e-7 of the total from a
// boundary between two tokens: exponentials round differently, weights below one unit count as 0,
// and the host sums in double. With top_k or top_p the host adds tokens in another order, so only
// the distribution is the same.
struct SampleRows {
  std::int64_t rows = 0;
  int vocab = 0;
  const float* logits = nullptr;                 // [rows, vocab]
  const SampleParameters* parameters = nullptr;  // [rows]
  std::int32_t* tokens = nullptr;                // [rows], device memory or mapped host memory
  float* logprobs = nullptr;  // [rows] log-softmax of the logits as they came, or none
  SampleWork work = SampleWork::kCuts;
  int parts = 1;              // 1..kMaxSampleParts; sample_parts()
  void* workspace = nullptr;  // [sample_workspace_bytes()], aligned to 16
  // [kSampleRowsAtOnce], zeros before the first call; each call leaves them ready for the next
  std::uint32_t* counters = nullptr;
};

// Blocks per row: divides the multiprocessors among the rows, with at least one load per thread.
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
