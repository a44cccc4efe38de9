// SPDX-License-Identifier: Apache-2.0
//
// Finds where top_k and top_p cut a row: the logit of the last token that each of them keeps.
//
// Step 1: the number and the weight of the tokens at each distance from the best logit give the
// distances at which the cuts are. The tokens at these distances are the candidates. Step 2: radix
// selection finds the logit digit by digit, the highest digit first. A histogram of the candidates
// with the digits found so far shows in which next digit the wanted number (top_k) or weight
// (top_p) is reached. Weights are integers, so atomics give the same sums in any order. Threads:
// all threads of a block call the functions together.
#pragma once

#include "sampling/draw.cuh"

namespace tandem::gpu_kernels {

// Sums of 64 bits as two words of 32 bits. Atomic additions of 32 bits in shared memory are one
// instruction; of 64 bits they are a loop. When an addition makes the low word overflow, the thread
// that made it adds 1 to the high word.
template <int kBins>
struct Histogram {
  std::uint32_t low[kBins], high[kBins];

  __device__ void add(std::uint32_t bin, Units units) {
    const auto part = static_cast<std::uint32_t>(units);
    auto above = static_cast<std::uint32_t>(units >> 32);
    if (part != 0 && atomicAdd(&low[bin], part) > ~part) ++above;
    if (above != 0) atomicAdd(&high[bin], above);
  }
  __device__ Units at(int bin) const { return static_cast<Units>(high[bin]) << 32 | low[bin]; }
  __device__ void clear() {
    for (int bin = static_cast<int>(threadIdx.x); bin < kBins; bin += kSampleThreads) {
      low[bin] = high[bin] = 0;
    }
  }
};

inline constexpr int kDigits = 2048;  // values of a digit of 11 bits

// The totals at the thread's distance (weight, count) and at smaller distances.
struct AtDistance {
  Units weight, weight_before;
  std::uint32_t count, count_before;
};
static_assert(kDistances == kSampleThreads);

// The place of a cut, by its distance.
struct CutPlace {
  int distance;
  Units weight_before;
  std::uint32_t count_before;
};

// Distances of the candidates: [first, last] and that of top_k.
struct CandidatePlaces {
  CutPlace top_k;
  Units total_before;  // the weight nearer than the cut of top_k
  int first, last;

  __device__ bool has(int distance) const {
    return (distance >= first && distance <= last) || distance == top_k.distance;
  }
};

struct SelectShared {
  DrawShared draw;
  Histogram<kDigits> digits;
  float candidates[kCandidates];
  int begins[kMaxSampleParts + 1];  // index of each part's first candidate
  int num_candidates;               // in `candidates`; -1: too many, so the row is read instead
  Units before;                     // of the digits above the one that was found
  int digit;
  CutPlace place;
  CandidatePlaces places;
};

__device__ inline AtDistance read_distances(const SampleLaunch& launch, SelectShared& shared) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.y) * kDistances + threadIdx.x;
  AtDistance own;
  own.weight = __ldcg(launch.weights + at);
  own.count = __ldcg(launch.counts + at);
  Units all;
  std::uint32_t all_count;
  own.weight_before = block_exclusive_scan<kSampleThreads>(own.weight, shared.draw.scan, &all);
  own.count_before =
      block_exclusive_scan<kSampleThreads>(own.count, shared.draw.tie_scan, &all_count);
  return own;
}

// The smallest distance for which reaches(own) holds, and the total that is nearer; kDistances and
// the total of all if it never holds.
template <typename Reaches>
__device__ CutPlace find_place(const AtDistance& own, const Reaches& reaches,
                               SelectShared& shared) {
  const auto distance = static_cast<int>(threadIdx.x);
  const bool holds = reaches(own.weight_before + own.weight, own.count_before + own.count);
  const bool held = reaches(own.weight_before, own.count_before);
  if (distance == kDistances - 1 && !holds) {
    shared.place = {kDistances, own.weight_before + own.weight, own.count_before + own.count};
  }
  if (holds && !held) shared.place = {distance, own.weight_before, own.count_before};
  __syncthreads();
  const CutPlace place = shared.place;
  __syncthreads();
  return place;
}

__device__ inline double wanted_weight(float top_p, Units total) {
  const double wanted = static_cast<double>(top_p) * static_cast<double>(total);
  return wanted > 1.0 ? wanted : 1.0;  // one token at least
}

// The smallest distance at which the accumulated weight reaches the share top_p of `total`.
__device__ inline CutPlace place_of_share(const AtDistance& own, float top_p, Units total,
                                          SelectShared& shared) {
  const double wanted = wanted_weight(top_p, total);
  return find_place(
      own, [wanted](Units weight, std::uint32_t) { return static_cast<double>(weight) >= wanted; },
      shared);
}

// Writes the places to shared.places.
__device__ inline void find_candidates(const SampleParameters& parameters, const AtDistance& own,
                                       int vocab, SelectShared& shared) {
  const bool cuts_k = parameters.top_k > 0 && parameters.top_k < vocab;
  const std::uint32_t top_k = cuts_k ? static_cast<std::uint32_t>(parameters.top_k) : ~0u;
  const CutPlace place = find_place(
      own, [top_k](Units, std::uint32_t count) { return count >= top_k; }, shared);
  Units behind = place.weight_before;
  if (place.distance < kDistances) {
    if (threadIdx.x == static_cast<unsigned>(place.distance)) shared.before = own.weight;
    __syncthreads();
    behind += shared.before;
  }
  int first = place.distance, last = place.distance;
  if (parameters.top_p < 1.0f) {
    first = place_of_share(own, parameters.top_p, place.weight_before, shared).distance;
    last = place_of_share(own, parameters.top_p, behind, shared).distance;
  }
  if (threadIdx.x == 0) shared.places = {place, place.weight_before, first, last};
  __syncthreads();
}

// Calls use(logit) for all candidates at the distance, in no order. They come from the list in
// shared memory, or from the row if the list would be too long.
template <typename Use>
__device__ void for_candidates(const Row& row, const SelectShared& shared, int distance,
                               const Use& use) {
  const auto use_there = [&](float logit) {
    const float below = row.below(logit);
    if (below > kLeast && Row::distance(below) == distance) use(logit);
  };
  const int count = shared.num_candidates;
  if (count < 0) {
    for_part(row, {0, row.quads}, [&](float logit, int) { use_there(logit); });
  } else {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kSampleThreads) {
      use_there(shared.candidates[i]);
    }
  }
}

// Finds the highest digit of `digits` such that reaches(before + everything in digits from it on
// up). Writes it to shared.digit, and the total above it to shared.before.
template <typename Reaches>
__device__ void find_digit(SelectShared& shared, int digits, Units before, const Reaches& reaches) {
  constexpr int kOwn = kDigits / kSampleThreads;
  const int top = digits - 1 - static_cast<int>(threadIdx.x) * kOwn;  // this thread's highest
  Units own[kOwn];
  Units sum = 0;
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    own[i] = top - i >= 0 ? shared.digits.at(top - i) : 0;
    sum += own[i];
  }
  Units all;
  Units above = before + block_exclusive_scan<kSampleThreads>(sum, shared.draw.scan, &all);
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

// Adds up the amounts of the candidates at a distance, best first, until reaches() holds, and
// returns the bits of the last one. `before` is the amount of all tokens at smaller distances on
// entry, and of all better tokens on return. amount(logit, bits) is the amount of a token.
template <typename Amount, typename Reaches>
__device__ std::uint32_t select_bits(const Row& row, int distance, Units* before,
                                     const Amount& amount, const Reaches& reaches,
                                     SelectShared& shared) {
  std::uint32_t found = 0, known = 0;
  for (int shift = 21; shift >= 0; shift = shift == 21 ? 10 : shift - 10) {
    const int digits = shift == 0 ? 1 << 10 : 1 << 11;
    shared.digits.clear();
    __syncthreads();
    for_candidates(row, shared, distance, [&](float logit) {
      const std::uint32_t bits = ordered_bits(logit);
      if ((bits & known) != found) return;
      const Units units = amount(logit, bits);
      if (units > 0) {
        shared.digits.add((bits >> shift) & static_cast<std::uint32_t>(digits - 1), units);
      }
    });
    __syncthreads();
    find_digit(shared, digits, *before, reaches);
    found |= static_cast<std::uint32_t>(shared.digit) << shift;
    known |= static_cast<std::uint32_t>(digits - 1) << shift;
    *before = shared.before;
  }
  return found;
}

// *total: the weight of what it keeps.
__device__ inline Cut cut_top_k(const Row& row, const CutPlace& place, int top_k, Units* total,
                                SelectShared& shared) {
  const auto wanted = static_cast<Units>(top_k);
  Units before = place.count_before;
  const std::uint32_t bits = select_bits(
      row, place.distance, &before, [](float, std::uint32_t) { return Units{1}; },
      [wanted](Units count) { return count >= wanted; }, shared);
  Units above = 0;
  for_candidates(row, shared, place.distance, [&](float logit) {
    if (ordered_bits(logit) > bits) above += row.weight(logit);
  });
  above = reduce_block(above, Units{0}, shared.draw.sums, Sum());
  const Units ties = wanted - before;
  *total = place.weight_before + above + ties * row.weight(from_ordered_bits(bits));
  return {bits, static_cast<std::uint32_t>(ties)};
}

// Narrows the cut; *total: the weight of what it keeps, before and after.
__device__ inline Cut cut_top_p(const Row& row, const CutPlace& place, float top_p, const Cut& cut,
                                Units* total, SelectShared& shared) {
  const double wanted = wanted_weight(top_p, *total);
  const auto reaches = [wanted](Units units) { return static_cast<double>(units) >= wanted; };
  Units before = place.weight_before;
  const std::uint32_t bits = select_bits(
      row, place.distance, &before,
      [&](float logit, std::uint32_t token_bits) {
        return token_bits >= cut.bits ? row.weight(logit) : 0;
      },
      reaches, shared);
  const Units each = row.weight(from_ordered_bits(bits));
  auto ties =
      static_cast<Units>((wanted - static_cast<double>(before)) / static_cast<double>(each));
  while (ties > 1 && reaches(before + (ties - 1) * each)) --ties;
  while (!reaches(before + ties * each)) ++ties;
  *total = before + ties * each;
  return {bits, static_cast<std::uint32_t>(ties)};
}

}  // namespace tandem::gpu_kernels
