// SPDX-License-Identifier: Apache-2.0
//
// A block of 256 threads per chunk; a thread has 16 neighbouring values, so ranks of threads are
// ranks of places. Radix selection by digits of 11, 10 and 10 bits in shared memory.
#include "sparse/chunk_top.h"

#include "common/block_scan.cuh"
#include "common/launch.cuh"
#include "sparse/magnitude_bits.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kItems = 16;
constexpr int kBins = 2048;
constexpr int kBinsOfThread = kBins / kThreads;
constexpr unsigned kPlaceBits = 12;
static_assert(kThreads * kItems == kChunkValues);

// Values in shared memory, so that threads on places 16 apart use different banks.
struct ChunkMemory {
  float values[kChunkValues + kThreads];
  std::uint32_t bins[kBins];
  std::uint16_t places[kChunkValues];
  std::uint32_t scratch[kThreads / 32 + 1];
  std::uint32_t chosen, left;
  float levels[2];
  double split;
};
static_assert(sizeof(ChunkMemory) < 48 * 1024);

__device__ unsigned slot_of(unsigned place) { return place + place / kItems; }

__device__ std::uint32_t size_of_chunk(std::uint64_t num_values) {
  const std::uint64_t left = num_values - static_cast<std::uint64_t>(blockIdx.x) * kChunkValues;
  return left < kChunkValues ? static_cast<std::uint32_t>(left) : kChunkValues;
}

__device__ std::uint32_t entries_of_chunk(std::uint32_t count, std::uint32_t last_count) {
  return blockIdx.x + 1 == gridDim.x ? last_count : count;
}

// The k-th largest magnitude's bits, in memory.chosen, and how many of them to take, in left.
__device__ void choose(ChunkMemory& memory, std::uint32_t size, std::uint32_t count) {
  std::uint32_t known = 0, left = count;
  for (int digit = 0; digit < 3; ++digit) {
    const int shift = digit == 0 ? 20 : digit == 1 ? 10 : 0;
    const int bits = digit == 0 ? 11 : 10;
    for (int bin = static_cast<int>(threadIdx.x); bin < kBins; bin += kThreads)
      memory.bins[bin] = 0;
    __syncthreads();
    for (std::uint32_t place = threadIdx.x; place < size; place += kThreads) {
      const std::uint32_t magnitude = magnitude_bits(memory.values[slot_of(place)]);
      if ((magnitude ^ known) >> shift >> bits != 0) continue;
      atomicAdd(&memory.bins[magnitude >> shift & ((1u << bits) - 1u)], 1u);
    }
    __syncthreads();
    const int first = kBins - 1 - static_cast<int>(threadIdx.x) * kBinsOfThread;
    std::uint32_t own = 0;
    for (int i = 0; i < kBinsOfThread; ++i) own += memory.bins[first - i];
    std::uint32_t total;
    std::uint32_t above = block_exclusive_scan<kThreads>(own, memory.scratch, &total);
    for (int i = 0; i < kBinsOfThread; ++i) {
      const std::uint32_t here = memory.bins[first - i];
      if (above < left && left <= above + here) {
        memory.chosen = known | static_cast<std::uint32_t>(first - i) << shift;
        memory.left = left - above;
      }
      above += here;
    }
    __syncthreads();
    known = memory.chosen;
    left = memory.left;
  }
}

// The places of the chunk's entries, ascending.
__device__ void write_places(ChunkMemory& memory, std::uint32_t size) {
  std::uint32_t above = 0, equal = 0;
  for (unsigned item = 0; item < kItems; ++item) {
    const unsigned place = threadIdx.x * kItems + item;
    if (place >= size) break;
    const std::uint32_t magnitude = magnitude_bits(memory.values[slot_of(place)]);
    above |= magnitude > memory.chosen ? 1u << item : 0u;
    equal |= magnitude == memory.chosen ? 1u << item : 0u;
  }
  std::uint32_t total;
  std::uint32_t rank = block_exclusive_scan<kThreads>(static_cast<std::uint32_t>(__popc(equal)),
                                                      memory.scratch, &total);
  std::uint32_t kept = above;
  for (; equal != 0 && rank < memory.left; ++rank, equal &= equal - 1) kept |= equal & (0u - equal);
  std::uint32_t at = block_exclusive_scan<kThreads>(static_cast<std::uint32_t>(__popc(kept)),
                                                    memory.scratch, &total);
  for (; kept != 0; kept &= kept - 1) {
    memory.places[at++] =
        static_cast<std::uint16_t>(threadIdx.x * kItems + static_cast<unsigned>(__ffs(kept)) - 1);
  }
}

__device__ double magnitude_at(const ChunkMemory& memory, std::uint32_t entry) {
  return static_cast<double>(
      float_of(magnitude_bits(memory.values[slot_of(memory.places[entry])])));
}

// One thread, in the order of the entries.
__device__ void find_levels(ChunkMemory& memory, std::uint32_t count) {
  double sum = 0, below = 0, above = 0;
  std::uint32_t num_below = 0;
  for (std::uint32_t i = 0; i < count; ++i) sum += magnitude_at(memory, i);
  const double split = sum / static_cast<double>(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const double magnitude = magnitude_at(memory, i);
    if (magnitude < split) {
      below += magnitude;
      ++num_below;
    } else {
      above += magnitude;
    }
  }
  const std::uint32_t num_above = count - num_below;
  memory.split = split;
  memory.levels[0] = static_cast<float>(num_below > 0 ? below / num_below : split);
  memory.levels[1] = static_cast<float>(num_above > 0 ? above / num_above : split);
}

__device__ std::uint32_t code_of(const ChunkMemory& memory, std::uint32_t entry) {
  const std::uint32_t sign = bits_of(memory.values[slot_of(memory.places[entry])]) >> 31;
  return sign | (magnitude_at(memory, entry) >= memory.split ? 2u : 0u);
}

// Bits 8 at .. 8 at + 7 of the places and codes.
__device__ unsigned packed_byte(const ChunkMemory& memory, std::uint32_t count, std::uint32_t at) {
  unsigned byte = 0;
  for (unsigned bit = 0; bit < 8; ++bit) {
    const std::uint32_t position = at * 8 + bit;
    const std::uint32_t code_position = position - count * kPlaceBits;
    std::uint32_t value = 0;
    if (position < count * kPlaceBits) {
      value =
          static_cast<std::uint32_t>(memory.places[position / kPlaceBits]) >> position % kPlaceBits;
    } else if (code_position < count * 2) {
      value = code_of(memory, code_position / 2) >> code_position % 2;
    }
    byte |= (value & 1u) << bit;
  }
  return byte;
}

__global__ __launch_bounds__(kThreads) void pack_chunk(PackChunks job) {
  let_next_start();
  wait_for_previous();
  __shared__ ChunkMemory memory;
  const std::uint32_t size = size_of_chunk(job.num_values);
  const std::uint32_t count = entries_of_chunk(job.count, job.last_count);
  const float* values = job.values + static_cast<std::uint64_t>(blockIdx.x) * kChunkValues;
  for (std::uint32_t place = threadIdx.x; place < size; place += kThreads) {
    memory.values[slot_of(place)] = values[place];
  }
  __syncthreads();
  choose(memory, size, count);
  write_places(memory, size);
  __syncthreads();
  if (threadIdx.x == 0) find_levels(memory, count);
  __syncthreads();
  unsigned char* message = job.message + blockIdx.x * chunk_bytes(job.count);
  for (unsigned at = threadIdx.x; at < 2 * sizeof(float); at += kThreads) {
    message[at] = static_cast<unsigned char>(bits_of(memory.levels[at / 4]) >> at % 4 * 8);
  }
  const auto num_bytes = static_cast<std::uint32_t>(chunk_bytes(count) - 2 * sizeof(float));
  for (std::uint32_t at = threadIdx.x; at < num_bytes; at += kThreads) {
    message[2 * sizeof(float) + at] = static_cast<unsigned char>(packed_byte(memory, count, at));
  }
}

bool are_counts(std::uint64_t num_values, std::uint32_t count, std::uint32_t last_count) {
  const std::uint64_t last =
      num_values % kChunkValues == 0 ? kChunkValues : num_values % kChunkValues;
  return num_values <= 0xffffffffu && count >= 1 && count <= kChunkValues && last_count >= 1 &&
         last_count <= last;
}

unsigned num_chunks_of(std::uint64_t num_values) {
  return static_cast<unsigned>((num_values + kChunkValues - 1) / kChunkValues);
}

}  // namespace

std::size_t chunks_message_bytes(std::uint64_t num_values, std::uint32_t count,
                                 std::uint32_t last_count) {
  const unsigned chunks = num_chunks_of(num_values);
  return chunks == 0 ? 0 : (chunks - 1) * chunk_bytes(count) + chunk_bytes(last_count);
}

cudaError_t pack_chunks(const PackChunks& job, cudaStream_t stream) {
  if (!are_counts(job.num_values, job.count, job.last_count)) return cudaErrorInvalidValue;
  if (job.num_values == 0) return cudaSuccess;
  return launch(stream, num_chunks_of(job.num_values), kThreads, pack_chunk, job);
}

}  // namespace tandem::gpu_kernels
