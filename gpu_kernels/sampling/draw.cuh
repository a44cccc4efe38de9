// SPDX-License-Identifier: Apache-2.0
//
// Finds the token of a draw: the first, in the order of ids, at which the sum of the kept weights
// exceeds a given weight. One block gets the weights of the parts and finds the part, then the
// segment (by the sums of its warps), then the token.
//
// A cut is a logit (as ordered bits) and the number of tokens with an equal logit that are kept,
// lowest ids first. Threads: all threads of a block call the functions together. Cost: one part is
// read.
#pragma once

#include "sampling/row_parts.cuh"

namespace tandem::gpu_kernels {

struct Cut {
  std::uint32_t bits = 0;  // ordered bits of the cut's logit; all larger logits are kept
  // the first `ties` tokens whose logit equals the cut are kept; bits and ties 0: all tokens are
  // kept
  std::uint32_t ties = 0;
};

struct DrawShared {
  Units scan[kSampleWarps + 1];
  Units sums[kSampleWarps];  // sums of weights above the cut, by part
  std::uint32_t tie_scan[kSampleWarps + 1];
  std::uint32_t ties[kSampleWarps];  // number of logits equal to the cut, by part
  std::int32_t token;
};
static_assert(kMaxSampleParts <= kSampleWarps);

// Weights above the cut in a warp's range, and how many logits equal it; every lane gets both.
__device__ inline void sum_range(const Row& row, const Cut& cut, const QuadRange& range,
                                 Units* weight, std::uint32_t* equal) {
  Units above = 0;
  std::uint32_t equals = 0;
  for_tokens(row, range, [&](float logit, int) {
    const std::uint32_t bits = ordered_bits(logit);
    if (bits > cut.bits) above += row.weight(logit);
    if (bits == cut.bits) ++equals;
  });
  *weight = reduce_warp(above, Sum());
  *equal = reduce_warp(equals, Sum());
}

// The kept weight before a place, and the number of logits before it that equal the cut.
struct Walked {
  Units weight = 0;
  std::uint32_t equal = 0;
};

// Finds which of `shares` neighbouring ranges contains `target`, from their sums and ties.
__device__ inline int find_share(const DrawShared& shared, const Row& row, const Cut& cut,
                                 int shares, Units target, Walked& walked) {
  const Units each = cut.ties > 0 ? row.weight(from_ordered_bits(cut.bits)) : 0;
  int found = 0;
  for (; found < shares - 1; ++found) {
    const std::uint32_t left = cut.ties > walked.equal ? cut.ties - walked.equal : 0;
    const std::uint32_t kept = shared.ties[found] < left ? shared.ties[found] : left;
    const Units here = shared.sums[found] + kept * each;
    if (target < walked.weight + here) break;
    walked.weight += here;
    walked.equal += shared.ties[found];
  }
  return found;
}

// Writes to shared.token the token of the range that contains `target`.
__device__ inline void draw_in_range(const Row& row, const Cut& cut, const QuadRange& range,
                                     Walked walked, Units target, DrawShared& shared) {
  const int first = row.first_id(range.begin) > 0 ? row.first_id(range.begin) : 0;
  const int end = min(row.first_id(range.end), row.vocab);
  for (int base = first; base < end && walked.weight <= target; base += kSampleThreads) {
    const int id = base + static_cast<int>(threadIdx.x);
    const float logit = id < end ? cleaned(row.logits[id]) : -INFINITY;
    const std::uint32_t bits = ordered_bits(logit);
    const bool equals = id < end && bits == cut.bits;
    std::uint32_t all_equal;
    const std::uint32_t rank = walked.equal + block_exclusive_scan<kSampleThreads>(
                                                  equals ? 1u : 0u, shared.tie_scan, &all_equal);
    const bool kept = id < end && (bits > cut.bits || (equals && rank < cut.ties));
    const Units weight = kept ? row.weight(logit) : 0;
    Units all;
    const Units start =
        walked.weight + block_exclusive_scan<kSampleThreads>(weight, shared.scan, &all);
    if (start <= target && target < start + weight) shared.token = id;
    walked.weight += all;
    walked.equal += all_equal;
  }
  __syncthreads();
}

// shared.sums and shared.ties are those of the parts, before a barrier. Returns the token.
__device__ inline std::int32_t draw(const Row& row, const Cut& cut, int parts, Units target,
                                    DrawShared& shared) {
  __syncthreads();
  Walked walked;
  const QuadRange part = row.part(find_share(shared, row, cut, parts, target, walked), parts);
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x / 32u);
  Units weight;
  std::uint32_t equal;
  sum_range(row, cut, row.segment(part, warp), &weight, &equal);
  if ((threadIdx.x & 31u) == 0) {
    shared.sums[warp] = weight;
    shared.ties[warp] = equal;
  }
  __syncthreads();
  const int segment = find_share(shared, row, cut, kSampleWarps, target, walked);
  draw_in_range(row, cut, row.segment(part, segment), walked, target, shared);
  return shared.token;
}

__device__ inline Units target_of(float uniform, Units total) {
  const double share = static_cast<double>(uniform);
  const auto target = static_cast<Units>((share > 0.0 ? share : 0.0) * static_cast<double>(total));
  return target < total ? target : total - 1;
}

// Writes the requested results of the row. All threads call it.
__device__ inline void answer(const SampleLaunch& launch, const Row& row, std::int32_t token,
                              DrawShared& shared) {
  const SampleRows& job = launch.job;
  const std::int64_t at = blockIdx.y;
  if (threadIdx.x == 0) job.tokens[at] = token;
  if (job.logprobs == nullptr) return;
  __syncthreads();
  const Units sum = combine_parts(launch.norms + at * job.parts, job.parts, shared.sums, Sum());
  const double norm = log(static_cast<double>(sum) * 0x1p-44);
  if (threadIdx.x == 0) {
    job.logprobs[at] = static_cast<float>(static_cast<double>(cleaned(row.logits[token])) -
                                          static_cast<double>(row.best) - norm);
  }
}

}  // namespace tandem::gpu_kernels
