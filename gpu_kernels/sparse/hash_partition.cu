// SPDX-License-Identifier: Apache-2.0
//
// A stable counting sort by owner: tiles of 4,096 entries, 256 threads with 16 entries each.
//
// Inside a tile warp w holds entries w * 512 .. w * 512 + 511, 32 at a time, so that (round, lane)
// is the entries' order; lanes of equal owner find each other by ballots over the owner's bits.
// The sorted tile passes through shared memory, so that global writes are runs of one owner.
#include "sparse/hash_partition.h"

#include "common/block_scan.cuh"
#include "common/launch.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kItems = 16;
constexpr std::uint32_t kTile = kThreads * kItems;
static_assert(kMaxOwners == kThreads, "one thread per owner sums and scans");

std::uint32_t num_tiles_of(std::uint32_t num_entries) { return (num_entries + kTile - 1) / kTile; }

// counts: [num_owners, num_tiles].
__global__ __launch_bounds__(kThreads) void count_owners(const std::uint32_t* indices,
                                                         std::uint32_t num_entries,
                                                         HashedOwners owners,
                                                         std::uint32_t* counts) {
  let_next_start();
  wait_for_previous();
  __shared__ std::uint32_t tile_counts[kMaxOwners];
  tile_counts[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t begin = blockIdx.x * kTile + threadIdx.x;
  std::uint32_t units[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const std::uint32_t entry = begin + item * kThreads;
    units[item] = entry < num_entries ? indices[entry] : 0;
  }
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (begin + item * kThreads < num_entries) {
      atomicAdd(&tile_counts[place_of(owners, units[item]).owner], 1u);
    }
  }
  __syncthreads();
  if (threadIdx.x < owners.num_owners) {
    counts[threadIdx.x * gridDim.x + blockIdx.x] = tile_counts[threadIdx.x];
  }
}

// One block per owner turns its row of counts into exclusive prefix sums; totals: [num_owners].
__global__ __launch_bounds__(kThreads) void sum_along_tiles(std::uint32_t num_tiles,
                                                            std::uint32_t* counts,
                                                            std::uint32_t* totals) {
  let_next_start();
  wait_for_previous();
  __shared__ std::uint32_t scratch[kWarps + 1];
  std::uint32_t* row = counts + static_cast<std::size_t>(blockIdx.x) * num_tiles;
  std::uint32_t carried = 0;
  for (std::uint32_t base = 0; base < num_tiles; base += kThreads) {
    const std::uint32_t tile = base + threadIdx.x;
    const std::uint32_t count = tile < num_tiles ? row[tile] : 0;
    std::uint32_t sum;
    const std::uint32_t before = block_exclusive_scan<kThreads>(count, scratch, &sum);
    if (tile < num_tiles) row[tile] = carried + before;
    carried += sum;
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = carried;
}

// The lanes among `valid` whose owner (of `bits` bits) is this lane's.
__device__ unsigned lanes_of_owner(std::uint32_t owner, unsigned bits, unsigned valid) {
  unsigned peers = valid;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const bool mine = (owner >> bit) & 1u;
    const unsigned ones = __ballot_sync(0xffffffffu, mine);
    peers &= mine ? ones : ~ones;
  }
  return peers;
}

struct TileSort {
  std::uint32_t warp_starts[kWarps][kMaxOwners];  // counts, then sorted places
  std::uint32_t to_global[kMaxOwners];            // what leads from a sorted place to its output
  std::uint32_t scratch[kWarps + 1];
  std::uint8_t owners[kTile];  // of each sorted place
};

// Counts become places in the sorted tile; fills to_global. Every thread is one owner.
__device__ void place_owners(TileSort& sort, const HashedOwners& owners,
                             const std::uint32_t* prefixes, const std::uint32_t* totals,
                             std::uint32_t* begins) {
  const std::uint32_t owner = threadIdx.x;
  const bool is_owner = owner < owners.num_owners;
  std::uint32_t count = 0;
  if (is_owner) {
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      const std::uint32_t own = sort.warp_starts[warp][owner];
      sort.warp_starts[warp][owner] = count;
      count += own;
    }
  }
  std::uint32_t all;
  const std::uint32_t start = block_exclusive_scan<kThreads>(count, sort.scratch, &all);
  const std::uint32_t part_begin =
      block_exclusive_scan<kThreads>(is_owner ? totals[owner] : 0, sort.scratch, &all);
  if (is_owner) {
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) sort.warp_starts[warp][owner] += start;
    sort.to_global[owner] =
        part_begin + prefixes[owner * static_cast<std::size_t>(gridDim.x) + blockIdx.x] - start;
    if (blockIdx.x == 0) {
      begins[owner] = part_begin;
      if (owner + 1 == owners.num_owners) begins[owner + 1] = all;
    }
  }
}

// Writes one word per entry through shared memory; `places`: [kItems] sorted place of each entry.
template <typename Word>
__device__ void write_sorted(const TileSort& sort, Word* exchange, const Word (&words)[kItems],
                             const std::uint32_t (&places)[kItems], std::uint32_t tile_entries,
                             Word* to) {
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    if (places[item] < kTile) exchange[places[item]] = words[item];
  }
  __syncthreads();
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const std::uint32_t place = threadIdx.x + item * kThreads;
    if (place < tile_entries) to[sort.to_global[sort.owners[place]] + place] = exchange[place];
  }
}

// prefixes: [num_owners, num_tiles], totals: [num_owners], of sum_along_tiles.
template <typename Value>
__global__ __launch_bounds__(kThreads) void move_entries(HashPartition job, unsigned owner_bits,
                                                         const std::uint32_t* prefixes,
                                                         const std::uint32_t* totals) {
  let_next_start();
  wait_for_previous();
  constexpr std::size_t kWordBytes = sizeof(Value) > 4 ? sizeof(Value) : 4;
  alignas(8) __shared__ unsigned char exchange[kTile * kWordBytes];
  __shared__ TileSort sort;
  const unsigned lane = threadIdx.x & 31u;
  const unsigned warp = threadIdx.x / 32u;
  const std::uint32_t tile_begin = blockIdx.x * kTile;
  const std::uint32_t tile_entries = min(kTile, job.num_entries - tile_begin);
  const std::uint32_t first = warp * (kItems * 32) + lane;  // in the tile
  for (int row = 0; row < kWarps; ++row) sort.warp_starts[row][threadIdx.x] = 0;
  std::uint32_t locals[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const std::uint32_t at = first + item * 32;
    locals[item] = at < tile_entries ? job.indices[tile_begin + at] : 0;
  }
  __syncthreads();

  // place and owner of an entry share a word: places are below 2^13
  std::uint32_t places[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const bool is_entry = first + item * 32 < tile_entries;
    const Place place = place_of(job.owners, locals[item]);
    const unsigned valid = __ballot_sync(0xffffffffu, is_entry);
    const unsigned peers = lanes_of_owner(place.owner, owner_bits, valid);
    const unsigned rank = __popc(peers & ((1u << lane) - 1u));
    const std::uint32_t before = sort.warp_starts[warp][place.owner];
    __syncwarp();
    if (is_entry && rank == 0) sort.warp_starts[warp][place.owner] = before + __popc(peers);
    __syncwarp();
    locals[item] = place.local;
    places[item] = ((before + rank) << 8) | place.owner;
  }
  const Value* values = static_cast<const Value*>(job.values) + tile_begin;
  Value own_values[kItems];
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const std::uint32_t at = first + item * 32;
    own_values[item] = at < tile_entries ? values[at] : Value{};
  }
  __syncthreads();
  place_owners(sort, job.owners, prefixes, totals, job.begins);
  __syncthreads();
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const std::uint32_t owner = places[item] & 0xffu;
    const bool is_entry = first + item * 32 < tile_entries;
    places[item] = is_entry ? sort.warp_starts[warp][owner] + (places[item] >> 8) : kTile;
    if (is_entry) sort.owners[places[item]] = static_cast<std::uint8_t>(owner);
  }
  write_sorted(sort, reinterpret_cast<std::uint32_t*>(exchange), locals, places, tile_entries,
               job.locals);
  __syncthreads();
  write_sorted(sort, reinterpret_cast<Value*>(exchange), own_values, places, tile_entries,
               static_cast<Value*>(job.values_out));
}

}  // namespace

std::size_t partition_workspace_bytes(std::uint32_t num_entries, int num_owners) {
  const std::size_t words =
      (num_tiles_of(num_entries) + std::size_t{1}) * static_cast<std::size_t>(num_owners);
  return words * sizeof(std::uint32_t);
}

cudaError_t hash_partition(const HashPartition& job, cudaStream_t stream) {
  const std::uint32_t num_owners = job.owners.num_owners;
  if (num_owners < 1 || num_owners > kMaxOwners || job.num_entries > 0xffffffffu - kTile ||
      (job.value_bytes != 2 && job.value_bytes != 4 && job.value_bytes != 8)) {
    return cudaErrorInvalidValue;
  }
  if (job.num_entries == 0) {
    return cudaMemsetAsync(job.begins, 0, (num_owners + 1) * sizeof(std::uint32_t), stream);
  }
  const std::uint32_t num_tiles = num_tiles_of(job.num_entries);
  auto* counts = static_cast<std::uint32_t*>(job.workspace);
  std::uint32_t* totals = counts + static_cast<std::size_t>(num_owners) * num_tiles;
  unsigned owner_bits = 0;
  while ((1u << owner_bits) < num_owners) ++owner_bits;
  cudaError_t error = launch(stream, num_tiles, kThreads, count_owners, job.indices,
                             job.num_entries, job.owners, counts);
  if (error != cudaSuccess) return error;
  error = launch(stream, num_owners, kThreads, sum_along_tiles, num_tiles, counts, totals);
  if (error != cudaSuccess) return error;
  const auto move = [&](auto value) {
    return launch(stream, num_tiles, kThreads, move_entries<decltype(value)>, job, owner_bits,
                  counts, totals);
  };
  if (job.value_bytes == 2) return move(std::uint16_t{});
  return job.value_bytes == 4 ? move(std::uint32_t{}) : move(std::uint64_t{});
}

}  // namespace tandem::gpu_kernels
