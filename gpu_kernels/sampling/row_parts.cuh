// SPDX-License-Identifier: Apache-2.0
//
// The division of a row of logits among the blocks of a launch: parts, one per block, of 32
// segments, one per warp; and the memory through which the launches of a call pass results.
//
// A row is read in aligned quads, wherever it begins; values outside of it read as -infinity, which
// no sum, count or candidate includes. Parts and segments are ranges of quads. grid: [parts, rows].
// Threads: a comment says which functions all threads of a block must call.
#pragma once

#include <cfloat>

#include "common/block_reduce.cuh"
#include "common/block_scan.cuh"
#include "common/launch.cuh"
#include "common/ordered_bits.cuh"
#include "sampling/sample_rows.h"

namespace tandem::gpu_kernels {

using Units = unsigned long long;  // units of weight, or a number of tokens

inline constexpr int kSampleThreads = 1024, kSampleWarps = kSampleThreads / 32;
// upper limit of the candidates of a row, from which the cuts choose
inline constexpr int kCandidates = 4096;

inline int listed_per_part(int parts) { return parts <= 4 ? kCandidates : 4 * kCandidates / parts; }

// Logits are counted in bins by their distance from the best logit, the nearest bin first.
inline constexpr int kDistances = 1024;
inline constexpr float kDistancesPerFactor = 32.0f;  // a bin is a factor of e^(1/32)
inline constexpr float kUnitsOfBest = 0x1p44f;
inline constexpr float kLeast = -31.0f;  // e^-31 is below one unit
static_assert(-kLeast * kDistancesPerFactor < kDistances);

struct SampleLaunch {
  SampleRows job;
  int listed_per_part = 0;
  Units* best = nullptr;            // [rows] keys
  Units* keys = nullptr;            // [rows, parts]
  Units* sums = nullptr;            // [rows, parts] of weights that are kept for sure
  Units* norms = nullptr;           // [rows, parts] of weights at temperature 1
  Units* weights = nullptr;         // [rows, kDistances]
  std::uint32_t* counts = nullptr;  // [rows, kDistances]
  std::uint32_t* listed = nullptr;  // [rows, parts] candidates, of which a part lists the first
  float* lists = nullptr;           // [rows, parts, listed_per_part] logits
};

__device__ inline float cleaned(float logit) {
  if (logit != logit) return -INFINITY;
  return logit > FLT_MAX ? FLT_MAX : logit;
}

struct QuadRange {
  int begin, end;
};

struct Row {
  const float* logits;
  int vocab;
  int behind;  // number of values of the first quad that are before the row
  int quads;
  float best;
  float factor;  // 1 / temperature

  __device__ Row(const SampleRows& job, std::int64_t at)
      : logits(job.logits + at * job.vocab), vocab(job.vocab), best(0.0f), factor(1.0f) {
    behind = static_cast<int>(reinterpret_cast<std::uintptr_t>(logits) / 4 % 4);
    quads = (vocab + behind + 3) / 4;
  }

  __device__ float4 quad(int index) const {
    const int id = first_id(index);
    if (id >= 0 && id + 4 <= vocab) return *reinterpret_cast<const float4*>(logits + id);
    return make_float4(logit(id), logit(id + 1), logit(id + 2), logit(id + 3));
  }
  __device__ float logit(int id) const { return id >= 0 && id < vocab ? logits[id] : -INFINITY; }
  __device__ int first_id(int quad) const { return quad * 4 - behind; }

  __device__ QuadRange part(int index, int parts) const { return share({0, quads}, index, parts); }
  __device__ QuadRange segment(const QuadRange& part, int warp) const {
    return share(part, warp, kSampleWarps);
  }
  __device__ static QuadRange share(const QuadRange& all, int index, int shares) {
    const int each = (all.end - all.begin + shares - 1) / shares;
    const int begin = all.begin + index * each;
    return {begin < all.end ? begin : all.end, begin + each < all.end ? begin + each : all.end};
  }

  __device__ float below(float logit) const { return (logit - best) * factor; }
  __device__ static Units weight_below(float below) {
    return below > kLeast ? static_cast<Units>(expf(below) * kUnitsOfBest) : 0;
  }
  __device__ Units weight(float logit) const { return weight_below(below(logit)); }
  // The distance of a weight of some units; larger logits never have larger distances.
  __device__ static int distance(float below) {
    return static_cast<int>(-below * kDistancesPerFactor);
  }
  __device__ void set_temperature(float temperature) {
    const float inverse = 1.0f / temperature;
    factor = inverse > FLT_MAX ? FLT_MAX : inverse;  // infinity times 0 would be NaN
  }
};

// Calls use(cleaned logit, id) for the tokens of a warp's range, in any order.
template <typename Use>
__device__ void for_tokens(const Row& row, const QuadRange& range, const Use& use) {
  constexpr int kQuads = 2;  // in flight per thread
  for (int base = range.begin + static_cast<int>(threadIdx.x & 31u); base < range.end;
       base += 32 * kQuads) {
    float4 four[kQuads];
#pragma unroll
    for (int item = 0; item < kQuads; ++item) {
      const bool is_there = base + item * 32 < range.end;
      four[item] = is_there ? row.quad(base + item * 32) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
#pragma unroll
    for (int item = 0; item < kQuads; ++item) {
      const int id = row.first_id(base + item * 32);
      const float logits[] = {four[item].x, four[item].y, four[item].z, four[item].w};
      if (base + item * 32 < range.end) {
#pragma unroll
        for (int i = 0; i < 4; ++i) use(cleaned(logits[i]), id + i);
      }
    }
  }
}

// The same for a block's part.
template <typename Use>
__device__ void for_part(const Row& row, const QuadRange& part, const Use& use) {
  for_tokens(row, row.segment(part, static_cast<int>(threadIdx.x / 32u)), use);
}

// Whether this block is the last block of its row that calls this. If so, it sees what the others
// wrote before. All threads call it.
__device__ inline bool is_last_of_row(const SampleLaunch& launch) {
  if (launch.job.parts == 1) {
    __syncthreads();
    return true;
  }
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    std::uint32_t* counter = launch.job.counters + blockIdx.y;
    is_last = atomicAdd(counter, 1u) + 1 == static_cast<std::uint32_t>(launch.job.parts);
    if (is_last) *counter = 0;
  }
  __syncthreads();
  __threadfence();
  return is_last;
}

// The last block reads results of other blocks, past the first-level cache. All threads call it.
template <typename Combine>
__device__ Units combine_parts(const Units* of_parts, int parts, Units* scratch,
                               const Combine& combine) {
  const int thread = static_cast<int>(threadIdx.x);
  return reduce_block(thread < parts ? __ldcg(of_parts + thread) : Units{0}, Units{0}, scratch,
                      combine);
}

}  // namespace tandem::gpu_kernels
