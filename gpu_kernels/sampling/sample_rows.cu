// SPDX-License-Identifier: Apache-2.0
//
// Up to three launches of `parts` blocks per row; the last block of a row ends each launch. Launch
// 1 finds the best logit. Launch 2 sums the weights and draws for rows without cuts; for rows with
// cuts it sums the weights by distance from the best logit. Launch 3 finds the candidates of the
// cuts, the cuts, and the draw.
//
// Of a part, weights that no cut can reach are summed; the others are listed (some ten to some
// hundred per row of a model's logits). Bytes per row and launch: 4 vocab; between launches 12 KiB
// of distances, of which a block adds only its own, and the lists.
#include "sampling/sample_rows.h"

#include "sampling/selection.cuh"

namespace tandem::gpu_kernels {
namespace {

__device__ bool draws(const SampleParameters& parameters) { return parameters.temperature > 0.0f; }

__device__ bool cuts(const SampleParameters& parameters, int vocab) {
  return draws(parameters) &&
         ((parameters.top_k > 0 && parameters.top_k < vocab) || parameters.top_p < 1.0f);
}

__global__ __launch_bounds__(kSampleThreads) void find_best(
    const __grid_constant__ SampleLaunch launch) {
  let_next_start();
  wait_for_previous();
  __shared__ Units scratch[32];
  const SampleRows& job = launch.job;
  const std::int64_t at = blockIdx.y;
  const Row row(job, at);
  Units key = 0;
  for_part(row, row.part(static_cast<int>(blockIdx.x), job.parts), [&](float logit, int id) {
    key = Largest()(key, static_cast<Units>(candidate_key(logit, static_cast<std::uint32_t>(id))));
  });
  key = reduce_block(key, Units{0}, scratch, Largest());
  if (job.work == SampleWork::kCuts) {  // the next launch adds there
    for (int i = static_cast<int>(blockIdx.x) * kSampleThreads + static_cast<int>(threadIdx.x);
         i < kDistances; i += job.parts * kSampleThreads) {
      launch.weights[at * kDistances + i] = 0;
      launch.counts[at * kDistances + i] = 0;
    }
  }
  if (threadIdx.x == 0) launch.keys[at * job.parts + blockIdx.x] = key;
  if (!is_last_of_row(launch)) return;
  key = combine_parts(launch.keys + at * job.parts, job.parts, scratch, Largest());
  if (threadIdx.x != 0) return;
  launch.best[at] = key;
  const bool is_finite = value_of_key(key) != -INFINITY;
  job.tokens[at] = is_finite ? static_cast<std::int32_t>(index_of_key(key)) : -1;
  if (!is_finite && job.logprobs != nullptr) job.logprobs[at] = -INFINITY;
}

struct WeighShared {
  DrawShared draw;
  Histogram<kDistances> weights;
  std::uint32_t counts[kDistances];
};

// The part's weights by distance, for rows that cut; by number only where top_k is wanted.
__device__ void add_distances(const SampleLaunch& launch, const Row& row, bool by_number,
                              WeighShared& shared) {
  shared.weights.clear();
  for (int i = static_cast<int>(threadIdx.x); i < kDistances; i += kSampleThreads) {
    shared.counts[i] = 0;
  }
  __syncthreads();
  for_part(row, row.part(static_cast<int>(blockIdx.x), launch.job.parts), [&](float logit, int) {
    const float below = row.below(logit);
    if (!(below > kLeast)) return;
    const auto distance = static_cast<std::uint32_t>(Row::distance(below));
    shared.weights.add(distance, Row::weight_below(below));
    if (by_number) atomicAdd(&shared.counts[distance], 1u);
  });
  __syncthreads();
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * kDistances;
  for (int i = static_cast<int>(threadIdx.x); i < kDistances; i += kSampleThreads) {
    const Units weight = shared.weights.at(i);
    if (weight > 0) atomicAdd(launch.weights + first + i, weight);
    if (shared.counts[i] > 0) atomicAdd(launch.counts + first + i, shared.counts[i]);
  }
}

// Sums of the part's weights at the row's temperature and, with log-probabilities, at 1.
__device__ void add_weights(const SampleLaunch& launch, const Row& row, bool at_temperature,
                            WeighShared& shared) {
  Units sum = 0, norm = 0;
  const bool has_norm = launch.job.logprobs != nullptr;
  for_part(row, row.part(static_cast<int>(blockIdx.x), launch.job.parts), [&](float logit, int) {
    if (at_temperature) sum += row.weight(logit);
    if (has_norm) norm += Row::weight_below(logit - row.best);
  });
  sum = reduce_block(sum, Units{0}, shared.draw.sums, Sum());
  norm = reduce_block(norm, Units{0}, shared.draw.sums, Sum());
  if (threadIdx.x != 0) return;
  const std::int64_t part = static_cast<std::int64_t>(blockIdx.y) * launch.job.parts + blockIdx.x;
  launch.sums[part] = sum;
  launch.norms[part] = norm;
}

// Called by the last block of the row; launch.sums has the row's sums.
__device__ std::int32_t draw_of_all(const SampleLaunch& launch, const Row& row, float uniform,
                                    DrawShared& shared) {
  const int parts = launch.job.parts, thread = static_cast<int>(threadIdx.x);
  const Units* sums = launch.sums + static_cast<std::int64_t>(blockIdx.y) * parts;
  const Units total = combine_parts(sums, parts, shared.sums, Sum());
  if (thread < parts) {
    shared.sums[thread] = __ldcg(sums + thread);
    shared.ties[thread] = 0;
  }
  return draw(row, Cut{}, parts, target_of(uniform, total), shared);
}

__global__ __launch_bounds__(kSampleThreads) void weigh(
    const __grid_constant__ SampleLaunch launch) {
  let_next_start();
  wait_for_previous();
  __shared__ WeighShared shared;
  const SampleRows& job = launch.job;
  const std::int64_t at = blockIdx.y;
  const SampleParameters parameters = job.parameters[at];
  const Units key = launch.best[at];
  const bool draws_all = draws(parameters) && !cuts(parameters, job.vocab);
  if (value_of_key(key) == -INFINITY || (!draws(parameters) && job.logprobs == nullptr)) return;
  Row row(job, at);
  row.best = value_of_key(key);
  if (draws(parameters)) row.set_temperature(parameters.temperature);
  if (draws_all || job.logprobs != nullptr) add_weights(launch, row, draws_all, shared);
  if (cuts(parameters, job.vocab)) {
    add_distances(launch, row, parameters.top_k > 0, shared);
    return;  // the next launch answers
  }
  if (!is_last_of_row(launch)) return;
  const std::int32_t token = draws_all ? draw_of_all(launch, row, parameters.uniform, shared.draw)
                                       : static_cast<std::int32_t>(index_of_key(key));
  answer(launch, row, token, shared.draw);
}

// The part's weights that are kept for sure to launch.sums, its candidates to its list.
__device__ void list_candidates(const SampleLaunch& launch, const Row& row, SelectShared& shared) {
  const CandidatePlaces& places = shared.places;
  __shared__ std::uint32_t listed;
  if (threadIdx.x == 0) listed = 0;
  __syncthreads();
  const std::int64_t part = static_cast<std::int64_t>(blockIdx.y) * launch.job.parts + blockIdx.x;
  const auto most = static_cast<std::uint32_t>(launch.listed_per_part);
  float* list = launch.lists + part * launch.listed_per_part;
  Units sum = 0;
  for_part(row, row.part(static_cast<int>(blockIdx.x), launch.job.parts), [&](float logit, int) {
    const float below = row.below(logit);
    if (!(below > kLeast)) return;
    const int distance = Row::distance(below);
    if (distance < places.first) {
      sum += Row::weight_below(below);
    } else if (places.has(distance)) {
      const std::uint32_t to = atomicAdd(&listed, 1u);
      if (to < most) list[to] = logit;
    }
  });
  sum = reduce_block(sum, Units{0}, shared.draw.sums, Sum());
  if (threadIdx.x != 0) return;
  launch.sums[part] = sum;
  launch.listed[part] = listed;
}

// Copies the lists of all parts into shared memory, one after the other, after a barrier.
__device__ void collect(const SampleLaunch& launch, SelectShared& shared) {
  const int parts = launch.job.parts, thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * parts;
  const std::uint32_t own = thread < parts ? __ldcg(launch.listed + first + thread) : 0;
  std::uint32_t all;
  const std::uint32_t begin = block_exclusive_scan<kSampleThreads>(own, shared.draw.tie_scan, &all);
  if (thread <= parts) shared.begins[thread] = static_cast<int>(begin);
  const bool too_many = own > static_cast<std::uint32_t>(launch.listed_per_part);
  if (__syncthreads_or(too_many ? 1 : 0) != 0 || all > kCandidates) {
    if (thread == 0) shared.num_candidates = -1;
    __syncthreads();
    return;
  }
  if (thread == 0) shared.num_candidates = static_cast<int>(all);
  const int lane = thread % 32;
  for (int part = thread / 32; part < parts; part += kSampleWarps) {
    const float* list = launch.lists + (first + part) * launch.listed_per_part;
    const int to = shared.begins[part], count = shared.begins[part + 1] - to;
    for (int i = lane; i < count; i += 32) shared.candidates[to + i] = __ldcg(list + i);
  }
  __syncthreads();
}

// What each part keeps, for draw().
__device__ void sum_parts(const SampleLaunch& launch, const Row& row, const Cut& cut,
                          SelectShared& shared) {
  const int parts = launch.job.parts, lane = static_cast<int>(threadIdx.x & 31u);
  for (int part = static_cast<int>(threadIdx.x / 32u); part < parts; part += kSampleWarps) {
    Units weight = 0;
    std::uint32_t equal = 0;
    if (shared.num_candidates < 0) {
      sum_range(row, cut, row.part(part, parts), &weight, &equal);
    } else {
      for (int i = shared.begins[part] + lane; i < shared.begins[part + 1]; i += 32) {
        const std::uint32_t bits = ordered_bits(shared.candidates[i]);
        if (bits > cut.bits) weight += row.weight(shared.candidates[i]);
        if (bits == cut.bits) ++equal;
      }
      weight = reduce_warp(weight, Sum()) +
               __ldcg(launch.sums + static_cast<std::int64_t>(blockIdx.y) * parts + part);
      equal = reduce_warp(equal, Sum());
    }
    if (lane == 0) {
      shared.draw.sums[part] = weight;
      shared.draw.ties[part] = equal;
    }
  }
}

__global__ __launch_bounds__(kSampleThreads) void cut_and_draw(
    const __grid_constant__ SampleLaunch launch) {
  let_next_start();
  wait_for_previous();
  __shared__ SelectShared shared;
  const SampleRows& job = launch.job;
  const std::int64_t at = blockIdx.y;
  const SampleParameters parameters = job.parameters[at];
  const Units key = launch.best[at];
  if (value_of_key(key) == -INFINITY || !cuts(parameters, job.vocab)) return;
  Row row(job, at);
  row.best = value_of_key(key);
  row.set_temperature(parameters.temperature);
  find_candidates(parameters, read_distances(launch, shared), job.vocab, shared);
  list_candidates(launch, row, shared);
  if (!is_last_of_row(launch)) return;
  collect(launch, shared);
  Cut cut;
  Units total = shared.places.total_before;
  if (shared.places.top_k.distance < kDistances) {
    cut = cut_top_k(row, shared.places.top_k, parameters.top_k, &total, shared);
  }
  if (parameters.top_p < 1.0f) {
    const AtDistance own = read_distances(launch, shared);  // not held across the selection
    const CutPlace place = place_of_share(own, parameters.top_p, total, shared);
    cut = cut_top_p(row, place, parameters.top_p, cut, &total, shared);
  }
  sum_parts(launch, row, cut, shared);
  const Units target = target_of(parameters.uniform, total);
  answer(launch, row, draw(row, cut, job.parts, target, shared.draw), shared.draw);
}

// The places of a call in its workspace; their end.
std::size_t lay_out(SampleLaunch& launch) {
  const auto rows = static_cast<std::size_t>(launch.job.rows);
  const auto parts = rows * static_cast<std::size_t>(launch.job.parts);
  launch.listed_per_part = listed_per_part(launch.job.parts);
  std::size_t end = 0;
  const auto take = [&]<typename T>(T*& place, std::size_t count) {
    place = reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(launch.job.workspace) + end);
    end += (count * sizeof(T) + 15) / 16 * 16;
  };
  take(launch.best, rows);
  take(launch.keys, parts);
  take(launch.sums, parts);
  take(launch.norms, parts);
  take(launch.weights, rows * kDistances);
  take(launch.counts, rows * kDistances);
  take(launch.listed, parts);
  take(launch.lists, parts * static_cast<std::size_t>(launch.listed_per_part));
  return end;
}

cudaError_t sample_at_once(const SampleRows& job, cudaStream_t stream) {
  SampleLaunch rows{job};
  lay_out(rows);
  const dim3 grid(static_cast<unsigned>(job.parts), static_cast<unsigned>(job.rows));
  cudaError_t error = launch(stream, grid, kSampleThreads, find_best, rows);
  if (error == cudaSuccess && (job.work != SampleWork::kGreedy || job.logprobs != nullptr)) {
    error = launch(stream, grid, kSampleThreads, weigh, rows);
  }
  if (error == cudaSuccess && job.work == SampleWork::kCuts) {
    error = launch(stream, grid, kSampleThreads, cut_and_draw, rows);
  }
  return error;
}

}  // namespace

std::size_t sample_workspace_bytes(std::int64_t rows, int parts) {
  SampleLaunch launch;
  launch.job.rows = rows < kSampleRowsAtOnce ? rows : kSampleRowsAtOnce;
  launch.job.parts = parts;
  return lay_out(launch);
}

cudaError_t sample_rows(const SampleRows& job, cudaStream_t stream) {
  if (job.rows < 0 || job.rows > 0x7fffffff || job.vocab < 1 || job.vocab > kMaxVocab ||
      job.parts < 1 || job.parts > kMaxSampleParts) {
    return cudaErrorInvalidValue;
  }
  if (job.rows > 0 && (job.workspace == nullptr || job.counters == nullptr)) {
    return cudaErrorInvalidValue;
  }
  for (std::int64_t first = 0; first < job.rows; first += kSampleRowsAtOnce) {
    SampleRows some = job;
    some.rows = job.rows - first < kSampleRowsAtOnce ? job.rows - first : kSampleRowsAtOnce;
    some.logits += first * job.vocab;
    some.parameters += first;
    some.tokens += first;
    if (some.logprobs != nullptr) some.logprobs += first;
    const cudaError_t error = sample_at_once(some, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace tandem::gpu_kernels
