// SPDX-License-Identifier: Apache-2.0
//
// A block per row, in passes over its logits: the best, the sum of weights, the digits of the cuts,
// and the place of the draw.
//
// A cut is a logit (as ordered bits) and how many of those equal to it are kept, lowest ids first.
// Radix selection finds it from the top digit down: a histogram of the logits that share the digits
// found so far, by number for top_k, by weight for top_p, and the digit in which the wanted number
// or weight is reached. Weights are whole units, so atomics on them give the same sums in any
// order. For top_p tokens whose weight, times the vocabulary, is below the share that may be cut
// off are left out of the histograms: together they cannot reach the cut, and they are the crowd
// that would contend for few bins.
#include "sampling/sample_rows.h"

#include <cfloat>

#include "common/block_reduce.cuh"
#include "common/block_scan.cuh"
#include "common/launch.cuh"
#include "common/ordered_bits.cuh"

namespace tandem::gpu_kernels {
namespace {

using Units = unsigned long long;  // of weight, or a number of tokens

constexpr int kThreads = 1024, kWarps = kThreads / 32;
constexpr int kBatch = 4;
constexpr int kQuads = 2;  // that a thread has on their way
constexpr int kBins = 2048;
constexpr int kHistograms = 2;  // warps take turns, so that fewer meet at a bin
constexpr float kUnitsOfBest = 0x1p44f;
constexpr float kLeast = -31.0f;  // e^-31 is below one unit

struct Cut {
  std::uint32_t bits = 0;  // kept: those above, and of those equal
  std::uint32_t ties = 0;  // the first so many; all tokens where both are 0
};

// Sums of 64 bits in halves: shared memory adds 32 bits in one instruction, 64 in a loop of
// comparisons and exchanges. The one addition that passes 2^32 carries, whatever the order.
struct Histogram {
  std::uint32_t low[kBins], high[kBins];

  __device__ void add(std::uint32_t bin, Units units) {
    const auto part = static_cast<std::uint32_t>(units);
    auto above = static_cast<std::uint32_t>(units >> 32);
    if (part != 0 && atomicAdd(&low[bin], part) > ~part) ++above;
    if (above != 0) atomicAdd(&high[bin], above);
  }
  __device__ Units at(int bin) const { return static_cast<Units>(high[bin]) << 32 | low[bin]; }
};

struct Shared {
  Histogram bins[kHistograms];
  Units scan[kWarps + 1];
  Units sums[kWarps];
  std::uint32_t tie_scan[kWarps + 1];
  std::uint32_t ties[kWarps];
  Units before;  // of the digits above the one that was found
  int digit;
  std::int32_t token;
};

__device__ float cleaned(float logit) {
  if (logit != logit) return -INFINITY;
  return logit > FLT_MAX ? FLT_MAX : logit;
}

struct Row {
  const float* logits;
  int vocab;
  float best;
  float factor;  // 1 / temperature

  __device__ Units weight(float logit) const {
    const float below = (logit - best) * factor;
    return below > kLeast ? static_cast<Units>(expf(below) * kUnitsOfBest) : 0;
  }
};

// use(cleaned logit, id) for every token, in no order: four at a time from the first that is
// aligned on, wherever the row begins, then the few in front and behind.
template <typename Use>
__device__ void for_tokens(const Row& row, const Use& use) {
  const int thread = static_cast<int>(threadIdx.x);
  const auto behind = static_cast<int>(reinterpret_cast<std::uintptr_t>(row.logits) / 4 % 4);
  const int head = min((4 - behind) % 4, row.vocab);
  const int quads = (row.vocab - head) / 4;
  const auto* aligned = reinterpret_cast<const float4*>(row.logits + head);
  for (int base = thread; base < quads; base += kThreads * kQuads) {
    float4 four[kQuads];
#pragma unroll
    for (int item = 0; item < kQuads; ++item) {
      const int quad = base + item * kThreads;
      if (quad < quads) four[item] = aligned[quad];
    }
#pragma unroll
    for (int item = 0; item < kQuads; ++item) {
      const int quad = base + item * kThreads;
      if (quad >= quads) break;
      const int id = head + quad * 4;
      use(cleaned(four[item].x), id);
      use(cleaned(four[item].y), id + 1);
      use(cleaned(four[item].z), id + 2);
      use(cleaned(four[item].w), id + 3);
    }
  }
  const int id = thread < head ? thread : thread + quads * 4;
  if (id < row.vocab) use(cleaned(row.logits[id]), id);
}

__device__ std::uint64_t best_key(const Row& row, Shared& shared) {
  std::uint64_t key = 0;
  for_tokens(row, [&](float logit, int id) {
    key = Largest()(key, candidate_key(logit, static_cast<std::uint32_t>(id)));
  });
  return reduce_block(static_cast<Units>(key), Units{0}, shared.sums, Largest());
}

// The weight of all tokens above `bits`.
__device__ Units sum_above(const Row& row, std::uint32_t bits, Shared& shared) {
  Units sum = 0;
  for_tokens(row, [&](float logit, int) {
    if (ordered_bits(logit) > bits) sum += row.weight(logit);
  });
  return reduce_block(sum, Units{0}, shared.sums, Sum());
}

// The highest digit of `digits` such that reaches(before + everything in digits from it on up); it
// and what stands above it go to shared.digit and shared.before.
template <typename Reaches>
__device__ void find_digit(Shared& shared, int digits, Units before, const Reaches& reaches) {
  constexpr int kOwn = kBins / kThreads;
  const int top = digits - 1 - static_cast<int>(threadIdx.x) * kOwn;  // this thread's highest
  Units own[kOwn];
  Units sum = 0;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    own[i] = 0;
    if (top - i >= 0) {
      for (const Histogram& histogram : shared.bins) own[i] += histogram.at(top - i);
    }
    sum += own[i];
  }
  Units all;
  Units above = before + block_exclusive_scan<kThreads>(sum, shared.scan, &all);
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    if (top - i >= 0 && !reaches(above) && reaches(above + own[i])) {
      shared.digit = top - i;
      shared.before = above;
    }
    above += own[i];
  }
  __syncthreads();
}

// The bits of the token at which the amounts of tokens, best first, reach what is wanted;
// shared.before: the amount of those above. amount(logit, bits) is what a token counts.
template <typename Amount, typename Reaches>
__device__ std::uint32_t select_bits(const Row& row, Shared& shared, const Amount& amount,
                                     const Reaches& reaches) {
  std::uint32_t found = 0, known = 0;
  Units before = 0;
  Histogram& own = shared.bins[threadIdx.x / 32u % kHistograms];
  for (int shift = 21; shift >= 0; shift = shift == 21 ? 10 : shift - 10) {
    const int digits = shift == 0 ? 1 << 10 : 1 << 11;
    for (int bin = static_cast<int>(threadIdx.x); bin < kBins; bin += kThreads) {
      for (Histogram& histogram : shared.bins) histogram.low[bin] = histogram.high[bin] = 0;
    }
    __syncthreads();
    for_tokens(row, [&](float logit, int) {
      const std::uint32_t bits = ordered_bits(logit);
      if ((bits & known) != found) return;
      const Units units = amount(logit, bits);
      if (units > 0) own.add((bits >> shift) & static_cast<std::uint32_t>(digits - 1), units);
    });
    __syncthreads();
    find_digit(shared, digits, before, reaches);
    found |= static_cast<std::uint32_t>(shared.digit) << shift;
    known |= static_cast<std::uint32_t>(digits - 1) << shift;
    before = shared.before;
  }
  return found;
}

__device__ Cut cut_top_k(const Row& row, int top_k, Shared& shared) {
  const auto wanted = static_cast<Units>(top_k);
  const std::uint32_t bits = select_bits(
      row, shared, [](float, std::uint32_t) { return Units{1}; },
      [wanted](Units count) { return count >= wanted; });
  return {bits, static_cast<std::uint32_t>(wanted - shared.before)};
}

// Narrows the cut; *total: the weight of what it keeps, before and after.
__device__ Cut cut_top_p(const Row& row, float top_p, Cut cut, Units* total, Shared& shared) {
  const auto kept_weight = static_cast<double>(*total);
  double wanted = static_cast<double>(top_p) * kept_weight;
  if (!(wanted > 1.0)) wanted = 1.0;  // one token at least
  const auto skipped = static_cast<Units>((kept_weight - wanted) / row.vocab * 0.99);
  const auto reaches = [wanted](Units units) { return static_cast<double>(units) >= wanted; };
  const std::uint32_t bits = select_bits(
      row, shared,
      [&](float logit, std::uint32_t token_bits) {
        const Units units = token_bits >= cut.bits ? row.weight(logit) : 0;
        return units < skipped ? 0 : units;
      },
      reaches);
  const Units each = row.weight(from_ordered_bits(bits));
  const Units before = shared.before;
  auto ties =
      static_cast<Units>((wanted - static_cast<double>(before)) / static_cast<double>(each));
  while (ties > 1 && reaches(before + (ties - 1) * each)) --ties;
  while (!reaches(before + ties * each)) ++ties;
  *total = before + ties * each;
  return {bits, static_cast<std::uint32_t>(ties)};
}

// Weights of tokens [begin, end) of the vocabulary above the cut, and how many equal it.
__device__ void sum_segment(const Row& row, const Cut& cut, int begin, int end, Units* weight,
                            std::uint32_t* equal) {
  const int lane = static_cast<int>(threadIdx.x & 31u);
  for (int base = begin + lane; base < end; base += 32 * kBatch) {
    float logits[kBatch];
#pragma unroll
    for (int item = 0; item < kBatch; ++item) {
      logits[item] = base + item * 32 < end ? cleaned(row.logits[base + item * 32]) : -INFINITY;
    }
#pragma unroll
    for (int item = 0; item < kBatch; ++item) {
      const std::uint32_t bits = ordered_bits(logits[item]);
      if (bits > cut.bits) *weight += row.weight(logits[item]);
      if (bits == cut.bits && base + item * 32 < end) ++*equal;
    }
  }
}

// Tokens [begin, end), behind so much kept weight and so many equals of the cut.
struct Segment {
  int begin, end;
  Units before;
  std::uint32_t equal_before;
};

// Finds the token of the segment in which the weight `target` lies.
__device__ void draw_in_segment(const Row& row, const Cut& cut, Segment segment, Units target,
                                Shared& shared) {
  for (int base = segment.begin; base < segment.end && segment.before <= target; base += kThreads) {
    const int id = base + static_cast<int>(threadIdx.x);
    const bool exists = id < segment.end;
    const float logit = exists ? cleaned(row.logits[id]) : -INFINITY;
    const std::uint32_t bits = ordered_bits(logit);
    const bool equals = exists && bits == cut.bits;
    std::uint32_t all_equal;
    const std::uint32_t rank =
        segment.equal_before +
        block_exclusive_scan<kThreads>(equals ? 1u : 0u, shared.tie_scan, &all_equal);
    const bool kept = exists && (bits > cut.bits || (equals && rank < cut.ties));
    const Units weight = kept ? row.weight(logit) : 0;
    Units all;
    const Units start = segment.before + block_exclusive_scan<kThreads>(weight, shared.scan, &all);
    if (start <= target && target < start + weight) shared.token = id;
    segment.before += all;
    segment.equal_before += all_equal;
  }
  __syncthreads();
}

// The token at `target` of the kept weight, in the order of ids. Warp w sums the w-th part of the
// vocabulary; then the block looks into the part that holds the target.
__device__ void draw(const Row& row, const Cut& cut, Units target, Shared& shared) {
  const int part = (row.vocab + kWarps - 1) / kWarps;
  const int warp = static_cast<int>(threadIdx.x / 32u);
  const auto end_of = [&](int index) {
    return (index + 1) * part < row.vocab ? (index + 1) * part : row.vocab;
  };
  Units weight = 0;
  std::uint32_t equal = 0;
  sum_segment(row, cut, warp * part, end_of(warp), &weight, &equal);
  weight = reduce_warp(weight, Sum());
  equal = reduce_warp(equal, Sum());
  if ((threadIdx.x & 31u) == 0) {
    shared.sums[warp] = weight;
    shared.ties[warp] = equal;
  }
  __syncthreads();
  const Units each = cut.ties > 0 ? row.weight(from_ordered_bits(cut.bits)) : 0;
  Segment segment{0, 0, 0, 0};
  int found = 0;
  for (; found < kWarps - 1; ++found) {
    const std::uint32_t equal_before = segment.equal_before;
    const std::uint32_t left = cut.ties > equal_before ? cut.ties - equal_before : 0;
    const std::uint32_t kept = shared.ties[found] < left ? shared.ties[found] : left;
    const Units here = shared.sums[found] + kept * each;
    if (target < segment.before + here) break;
    segment.before += here;
    segment.equal_before += shared.ties[found];
  }
  segment.begin = found * part;
  segment.end = end_of(found);
  draw_in_segment(row, cut, segment, target, shared);
}

// Log-softmax of the row at `token`. All threads call it; the first one's answer counts.
__device__ float log_probability(Row row, std::int32_t token, Shared& shared) {
  row.factor = 1.0f;
  const Units sum = sum_above(row, 0, shared);
  const double norm = log(static_cast<double>(sum) * 0x1p-44);
  return static_cast<float>(static_cast<double>(cleaned(row.logits[token])) -
                            static_cast<double>(row.best) - norm);
}

// Leaves the drawn token in shared.token.
__device__ void cut_and_draw(const Row& row, const SampleParameters& parameters, Shared& shared) {
  Cut cut;
  if (parameters.top_k > 0 && parameters.top_k < row.vocab) {
    cut = cut_top_k(row, parameters.top_k, shared);
  }
  Units total = sum_above(row, cut.bits, shared);
  if (cut.ties > 0) total += cut.ties * row.weight(from_ordered_bits(cut.bits));
  if (parameters.top_p < 1.0f) cut = cut_top_p(row, parameters.top_p, cut, &total, shared);
  const double share = static_cast<double>(parameters.uniform);
  auto target = static_cast<Units>((share > 0.0 ? share : 0.0) * static_cast<double>(total));
  if (target >= total) target = total - 1;
  draw(row, cut, target, shared);
}

__global__ __launch_bounds__(kThreads) void sample(SampleRows job) {
  let_next_start();
  wait_for_previous();
  __shared__ Shared shared;
  const std::int64_t at = blockIdx.x;
  const SampleParameters parameters = job.parameters[at];
  Row row{job.logits + at * job.vocab, job.vocab, 0.0f, 1.0f};
  const std::uint64_t key = best_key(row, shared);
  row.best = value_of_key(key);
  if (row.best == -INFINITY) {
    if (threadIdx.x == 0) {
      job.tokens[at] = -1;
      if (job.logprobs != nullptr) job.logprobs[at] = -INFINITY;
    }
    return;
  }
  if (threadIdx.x == 0) shared.token = static_cast<std::int32_t>(index_of_key(key));
  __syncthreads();
  if (parameters.temperature > 0.0f) {
    const float factor = 1.0f / parameters.temperature;
    row.factor = factor > FLT_MAX ? FLT_MAX : factor;  // infinity times 0 would be NaN
    cut_and_draw(row, parameters, shared);
  }
  const std::int32_t token = shared.token;
  if (threadIdx.x == 0) job.tokens[at] = token;
  if (job.logprobs == nullptr) return;
  const float logprob = log_probability(row, token, shared);
  if (threadIdx.x == 0) job.logprobs[at] = logprob;
}

}  // namespace

cudaError_t sample_rows(const SampleRows& job, cudaStream_t stream) {
  if (job.rows < 0 || job.rows > 0x7fffffff || job.vocab < 1 || job.vocab > kMaxVocab) {
    return cudaErrorInvalidValue;
  }
  if (job.rows == 0) return cudaSuccess;
  return launch(stream, static_cast<unsigned>(job.rows), kThreads, sample, job);
}

}  // namespace tandem::gpu_kernels
