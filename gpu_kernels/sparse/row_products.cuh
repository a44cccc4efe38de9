// SPDX-License-Identifier: Apache-2.0
//
// The bodies of products over the rows of a sparse matrix or tensor: a warp takes a row, or a
// thread a short one.
//
// row_products.cu starts them with the sizes of that file; host/tensor/sparse/generated compiles
// them at run time for a pattern. Therefore it includes only row_jobs.h, and names no type of
// others. widen(Stored) is declared before this file: a stored value as float. Lanes take columns;
// with less than 32 columns the lanes divide into sides, which take entries in turns and add up at
// the end. Every sum has a fixed order. A warp of a row that does not exist does nothing.
#pragma once

#include "sparse/row_jobs.h"

namespace tandem::gpu_kernels {

__device__ inline float ended(RowEnd end, float sum, const float* bias, unsigned row) {
  if (end != RowEnd::kNone) sum += bias[row];
  if (end == RowEnd::kBiasRelu) return sum < 0.0f ? 0.0f : sum;
  if (end == RowEnd::kBiasSilu) return sum / (1.0f + expf(-sum));
  return sum;
}

__device__ inline unsigned row_of_warp() {
  return blockIdx.x * kRowWarps + threadIdx.x / kWarpLanes;
}

// The lanes of a row of kColumns.
template <int kColumns>
struct RowLanes {
  static constexpr int kLanes = kColumns < kWarpLanes ? kColumns : kWarpLanes;
  static constexpr int kSides = kWarpLanes / kLanes;  // entries that are taken together
  static constexpr int kEach = kColumns / kLanes;     // columns of a lane
  static_assert(kLanes * kEach == kColumns && kLanes * kSides == kWarpLanes);
};

// sums [kEach] += value * product of the factors' rows, over entries [begin, end).
template <int kFactors, int kColumns, typename Stored>
__device__ void add_entries(const RowSums& job, RowBegin begin, RowBegin end, float* sums) {
  using Lanes = RowLanes<kColumns>;
  const int lane = threadIdx.x % kWarpLanes, column = lane % Lanes::kLanes;
  const Stored* const values = static_cast<const Stored*>(job.values);
  for (RowBegin first = begin + lane / Lanes::kLanes; first < end;
       first += kEntriesAhead * Lanes::kSides) {
    float products[kEntriesAhead][Lanes::kEach];
    bool is_entry[kEntriesAhead];
#pragma unroll
    for (int i = 0; i < kEntriesAhead; ++i) {
      const RowBegin e = first + static_cast<RowBegin>(i * Lanes::kSides);
      is_entry[i] = e < end;
      const RowBegin at = is_entry[i] ? e : first;
      const float value = widen(values[at]);
#pragma unroll
      for (int k = 0; k < Lanes::kEach; ++k) products[i][k] = value;
#pragma unroll
      for (int f = 0; f < kFactors; ++f) {
        const float* const row =
            job.factors[f] + static_cast<RowBegin>(job.indices[f][at]) * kColumns + column;
#pragma unroll
        for (int k = 0; k < Lanes::kEach; ++k) products[i][k] *= row[k * Lanes::kLanes];
      }
    }
#pragma unroll
    for (int i = 0; i < kEntriesAhead; ++i) {
#pragma unroll
      for (int k = 0; k < Lanes::kEach; ++k) sums[k] += is_entry[i] ? products[i][k] : 0.0f;
    }
  }
}

// blockIdx.x: rows; blockIdx.y: parts.
template <int kFactors, int kColumns, typename Stored>
__device__ void sum_row(const RowSums& job) {
  using Lanes = RowLanes<kColumns>;
  const unsigned row = row_of_warp(), part = blockIdx.y;
  if (row >= job.rows) return;
  const RowBegin begin = job.begins[row], count = job.begins[row + 1] - begin;
  float sums[Lanes::kEach] = {};
  add_entries<kFactors, kColumns, Stored>(job, begin + count * part / job.parts,
                                          begin + count * (part + 1) / job.parts, sums);
  const int lane = threadIdx.x % kWarpLanes;
#pragma unroll
  for (int k = 0; k < Lanes::kEach; ++k) {
#pragma unroll
    for (int distance = Lanes::kLanes; distance < kWarpLanes; distance *= 2) {
      sums[k] += __shfl_xor_sync(0xffffffffu, sums[k], distance);
    }
    if (lane >= Lanes::kLanes) continue;
    const RowBegin at = static_cast<RowBegin>(row) * kColumns + lane + k * Lanes::kLanes;
    if (job.parts == 1) {
      job.out[at] = ended(job.end, sums[k], job.bias, row);
    } else {
      job.partial[static_cast<RowBegin>(part) * job.rows * kColumns + at] = sums[k];
    }
  }
}

// A thread adds the parts of a value, in order.
__device__ inline void add_parts(const RowSums& job, unsigned columns, RowBegin at) {
  const RowBegin size = static_cast<RowBegin>(job.rows) * columns;
  if (at >= size) return;
  float sum = 0.0f;
  for (unsigned part = 0; part < job.parts; ++part) sum += job.partial[part * size + at];
  job.out[at] = ended(job.end, sum, job.bias, static_cast<unsigned>(at / columns));
}

// A matrix times a vector: lanes take entries.
template <typename Stored>
__device__ void dot_row(const RowSums& job) {
  const unsigned row = row_of_warp();
  if (row >= job.rows) return;
  const Stored* const values = static_cast<const Stored*>(job.values);
  float sum = 0.0f;
  for (RowBegin e = job.begins[row] + threadIdx.x % kWarpLanes; e < job.begins[row + 1];
       e += kWarpLanes) {
    sum = fmaf(widen(values[e]), job.factors[0][job.indices[0][e]], sum);
  }
#pragma unroll
  for (int distance = 1; distance < kWarpLanes; distance *= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  if (threadIdx.x % kWarpLanes == 0) job.out[row] = ended(job.end, sum, job.bias, row);
}

// A tensor times a vector over short fibres: a thread takes a fibre. kLength: the entries of every
// fibre; 0: as `begins` says.
template <int kLength, typename Stored>
__device__ void dot_fibre(const RowSums& job) {
  const RowBegin fibre = static_cast<RowBegin>(blockIdx.x) * (kRowWarps * kWarpLanes) + threadIdx.x;
  if (fibre >= job.rows) return;
  const Stored* const values = static_cast<const Stored*>(job.values);
  const RowBegin begin = kLength > 0 ? job.begins[0] + fibre * kLength : job.begins[fibre];
  const RowBegin end = kLength > 0 ? begin + kLength : job.begins[fibre + 1];
  float sum = 0.0f;
  for (RowBegin e = begin; e < end; ++e) {
    sum = fmaf(widen(values[e]), job.factors[0][job.indices[0][e]], sum);
  }
  job.out[fibre] = ended(job.end, sum, job.bias, static_cast<unsigned>(fibre));
}

// The dot product of a row that the lanes hold and one in memory; every lane gets it.
template <int kColumns>
__device__ float dot_of(const float* mine, const float* row) {
  using Lanes = RowLanes<kColumns>;
  static_assert(Lanes::kSides == 1);
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < Lanes::kEach; ++k) sum += mine[k] * row[k * kWarpLanes];
#pragma unroll
  for (int distance = 1; distance < kWarpLanes; distance *= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  return sum;
}

template <int kColumns>
__device__ void load_row(const float* row, float* mine) {
#pragma unroll
  for (int k = 0; k < RowLanes<kColumns>::kEach; ++k) mine[k] = row[k * kWarpLanes];
}

template <int kColumns>
__device__ void dot_entries(const EntryDots& job) {
  const unsigned row = row_of_warp();
  if (row >= job.rows) return;
  const int lane = threadIdx.x % kWarpLanes;
  float left[RowLanes<kColumns>::kEach];
  load_row<kColumns>(job.left + static_cast<RowBegin>(row) * kColumns + lane, left);
  for (RowBegin e = job.begins[row]; e < job.begins[row + 1]; ++e) {
    const float* const right = job.right + static_cast<RowBegin>(job.indices[e]) * kColumns + lane;
    const float dot = dot_of<kColumns>(left, right);
    if (lane == 0) job.out[e] = job.values[e] * dot;
  }
}

// SDDMM, softmax and SpMM in one pass: sums are scaled when a greater score comes.
template <int kColumns>
__device__ void attend_row(const EntryDots& job) {
  constexpr int kEach = RowLanes<kColumns>::kEach;
  const unsigned row = row_of_warp();
  if (row >= job.rows) return;
  const int lane = threadIdx.x % kWarpLanes;
  float query[kEach], sums[kEach] = {};
  load_row<kColumns>(job.left + static_cast<RowBegin>(row) * kColumns + lane, query);
  float most = -3.402823466e38f, all = 0.0f;  // no infinity, which would be subtracted
  for (RowBegin e = job.begins[row]; e < job.begins[row + 1]; ++e) {
    const RowBegin at = static_cast<RowBegin>(job.indices[e]) * kColumns + lane;
    const float score = job.scale * job.values[e] * dot_of<kColumns>(query, job.right + at);
    const float next = fmaxf(most, score);
    const float kept = expf(most - next), weight = expf(score - next);
    most = next;
    all = all * kept + weight;
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      sums[k] = sums[k] * kept + weight * job.mixed[at + k * kWarpLanes];
    }
  }
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    job.out[static_cast<RowBegin>(row) * kColumns + lane + k * kWarpLanes] =
        all == 0.0f ? 0.0f : sums[k] / all;  // a NaN stays one
  }
}

}  // namespace tandem::gpu_kernels
