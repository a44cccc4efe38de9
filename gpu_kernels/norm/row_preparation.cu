// SPDX-License-Identifier: Apache-2.0
//
// Up to three passes over a row: its mean square, its peak, and the forms.
//
// A thread takes kBatch quads at a time and issues their loads before the first use. The first pass
// adds the addend and stores the sum; later passes read what the same thread stored. Eight lanes
// hold a block of 32 values, so its peak and sums are three shuffles each. Lanes after the row's
// end use zeros.
#include "norm/row_preparation.h"

#include "activation/gates.cuh"
#include "common/block_reduce.cuh"
#include "common/launch.cuh"
#include "common/quads.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kBatch = 4;
constexpr int kQuadColumns = 4;
constexpr std::uint32_t kInfinity = 0x7f800000u, kNothing = 0x0d800000u;  // 2^-100
constexpr std::uint32_t kNaN = 0x7fc00000u;
constexpr float kLargestE4M3 = 448.0f;

__device__ std::uint32_t magnitude(float value) { return bits_of(value) & 0x7fffffffu; }

// One row, or the columns [begin, end) of one, as a block sees it.
template <RowFunction kFunction, bool kAligned>
struct RowReader {
  const float* x;
  const float* up;
  const float* addend;
  float* sum;
  const float* weight;
  int width;
  float factor;  // of the norm

  __device__ RowReader(const RowPreparation& job, std::int64_t row) {
    const std::int64_t from = (job.picks != nullptr ? job.picks[row] : row) * job.width;
    x = job.x + from;
    up = kFunction == RowFunction::kSiluUp || kFunction == RowFunction::kGeluTanhUp ? job.up + from
                                                                                    : nullptr;
    addend = job.addend != nullptr ? job.addend + from : nullptr;
    sum = job.sum != nullptr ? job.sum + row * job.width : nullptr;
    weight = job.weight;
    width = job.width;
    factor = 1.0f;
  }

  // x, or the sum with the addend, which the first pass stores.
  __device__ Quad input(int at, bool is_first) const {
    if (!is_first && sum != nullptr) return load_quad<kAligned>(sum, at, width);
    Quad quad = load_quad<kAligned>(x, at, width);
    if (addend != nullptr) {
      const Quad other = load_quad<kAligned>(addend, at, width);
#pragma unroll
      for (int i = 0; i < 4; ++i) quad.v[i] += other.v[i];
      if (sum != nullptr) store_quad<kAligned>(sum, at, width, quad);
    }
    return quad;
  }

  __device__ Quad value(int at, bool is_first) const {
    Quad quad = input(at, is_first);
    if constexpr (kFunction == RowFunction::kRmsNorm) {
      const Quad weights = load_quad<kAligned>(weight, at, width);
#pragma unroll
      for (int i = 0; i < 4; ++i) quad.v[i] = quad.v[i] * factor * weights.v[i];
    } else if constexpr (kFunction != RowFunction::kNone) {
      const Quad other = load_quad<kAligned>(up, at, width);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        quad.v[i] = (kFunction == RowFunction::kSiluUp ? silu(quad.v[i]) : gelu_tanh(quad.v[i])) *
                    other.v[i];
      }
    }
    return quad;
  }
};

// Calls use(quads of one batch, the first one's column) for all columns in [begin, end); the
// distance of a thread's quads is blockDim.x * 4, and all threads make the same number of calls.
template <typename Load, typename Use>
__device__ void for_batches(int begin, int end, const Load& load, const Use& use) {
  const int step = static_cast<int>(blockDim.x) * kQuadColumns;
  for (int base = begin; base < end; base += step * kBatch) {
    const int first = base + static_cast<int>(threadIdx.x) * kQuadColumns;
    Quad quads[kBatch];
#pragma unroll
    for (int item = 0; item < kBatch; ++item) {
      const int at = first + item * step;
      quads[item] = at < end ? load(at) : Quad{{0.0f, 0.0f, 0.0f, 0.0f}};
    }
#pragma unroll
    for (int item = 0; item < kBatch; ++item) use(quads[item], first + item * step);
  }
}

// The lanes of a block of 32 values are 8 neighbours.
template <typename T, typename Combine>
__device__ T reduce_eight_lanes(T value, const Combine& combine) {
#pragma unroll
  for (int mask = 1; mask < 8; mask *= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, mask));
  }
  return value;
}

// All lanes of the warp call it; those with at >= end write nothing.
template <bool kAligned>
__device__ void write_q8(const RowPreparation& job, std::int64_t row, int at, int end,
                         const Quad& quad) {
  std::uint32_t peak_bits = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) peak_bits = Largest()(peak_bits, magnitude(quad.v[i]));
  peak_bits = reduce_eight_lanes(peak_bits, Largest());
  const bool counts = peak_bits >= kNothing && peak_bits < kInfinity;
  const float peak = float_of(peak_bits);
  const float inverse = counts ? 127.0f / peak : 0.0f;
  std::int32_t sum = 0;
  std::uint8_t q[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int rounded = counts ? static_cast<int>(rintf(quad.v[i] * inverse)) : 0;
    q[i] = static_cast<std::uint8_t>(rounded);
    sum += rounded;
  }
  sum += __shfl_xor_sync(0xffffffffu, sum, 1);
  sum += __shfl_xor_sync(0xffffffffu, sum, 2);
  const std::int32_t all = sum + __shfl_xor_sync(0xffffffffu, sum, 4);
  if (at >= end) return;
  auto* to = reinterpret_cast<std::uint8_t*>(job.to.q8) + row * job.width;
  store_packed<kAligned, std::uint32_t>(to, at, end, q);
  if (at % 32 != 0) return;
  float scale = 0.0f;
  if (counts) scale = peak / 127.0f;
  if (peak_bits >= kInfinity) scale = float_of(kNaN);
  job.to.q8_notes[(row * job.width + at) / 32] = {scale, scale * static_cast<float>(all), all, sum};
}

template <bool kAligned, typename Narrow>
__device__ void write_halves(Narrow* row, int at, int width, const Quad& quad) {
  std::uint16_t bits[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    Narrow narrowed;
    narrow(quad.v[i], narrowed);
    bits[i] = narrowed.bits;
  }
  store_packed<kAligned, std::uint64_t>(reinterpret_cast<std::uint16_t*>(row), at, width, bits);
}

template <bool kAligned>
__device__ void write_e4m3(E4M3* row, int at, int width, float inverse, const Quad& quad) {
  std::uint8_t bits[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    E4M3 narrowed;
    narrow(inverse > 0.0f ? quad.v[i] * inverse : 0.0f, narrowed);
    bits[i] = narrowed.bits;
  }
  store_packed<kAligned, std::uint32_t>(reinterpret_cast<std::uint8_t*>(row), at, width, bits);
}

// inverse_scale: of e4m3, 0 for rows of zeros.
template <bool kAligned>
__device__ void write_forms(const RowPreparation& job, std::int64_t row, int at, int end,
                            float inverse_scale, const Quad& quad) {
  const RowForms& to = job.to;
  const int width = job.width;
  if (to.q8 != nullptr) write_q8<kAligned>(job, row, at, end, quad);
  if (at >= end) return;
  const std::int64_t begin = row * width;
  if (to.f32 != nullptr) {
    Quad result = quad;
    if (to.accumulate) {
      const Quad before = load_quad<kAligned>(to.f32 + begin, at, width);
#pragma unroll
      for (int i = 0; i < 4; ++i) result.v[i] += before.v[i];
    }
    store_quad<kAligned>(to.f32 + begin, at, width, result);
  }
  if (to.bf16 != nullptr) write_halves<kAligned>(to.bf16 + begin, at, width, quad);
  if (to.f16 != nullptr) write_halves<kAligned>(to.f16 + begin, at, width, quad);
  if (to.e4m3 != nullptr) write_e4m3<kAligned>(to.e4m3 + begin, at, width, inverse_scale, quad);
}

// Returns the inverse of the scale that it writes.
__device__ float write_e4m3_scale(std::uint32_t peak_bits, float* scale) {
  const bool counts = peak_bits >= kNothing && peak_bits < kInfinity;
  const float peak = float_of(peak_bits);
  if (threadIdx.x == 0) {
    *scale = counts ? peak / kLargestE4M3 : (peak_bits >= kInfinity ? float_of(kNaN) : 0.0f);
  }
  return counts ? kLargestE4M3 / peak : 0.0f;
}

// grid: [rows, parts of a row]; a row of which something must be known first has one part.
template <RowFunction kFunction, bool kAligned>
__global__ __launch_bounds__(1024) void prepare(RowPreparation job, int columns) {
  let_next_start();
  wait_for_previous();
  __shared__ float sums[32];
  __shared__ std::uint32_t peaks[32];
  const std::int64_t row = blockIdx.x;
  const int begin = static_cast<int>(blockIdx.y) * columns;
  const int end = begin + columns < job.width ? begin + columns : job.width;
  RowReader<kFunction, kAligned> reader(job, row);
  bool is_first = true;
  if constexpr (kFunction == RowFunction::kRmsNorm) {
    float sum = 0;
    for_batches(
        begin, end, [&](int at) { return reader.input(at, true); },
        [&](const Quad& quad, int) {
#pragma unroll
          for (int i = 0; i < 4; ++i) sum += quad.v[i] * quad.v[i];
        });
    sum = reduce_block(sum, 0.0f, sums, Sum());
    reader.factor = 1.0f / sqrtf(sum / static_cast<float>(job.width) + job.epsilon);
    is_first = false;
  }
  float inverse_scale = 0;
  if (job.to.e4m3 != nullptr) {
    std::uint32_t peak = 0;
    for_batches(
        begin, end, [&](int at) { return reader.value(at, is_first); },
        [&](const Quad& quad, int) {
#pragma unroll
          for (int i = 0; i < 4; ++i) peak = Largest()(peak, magnitude(quad.v[i]));
        });
    peak = reduce_block(peak, 0u, peaks, Largest());
    inverse_scale = write_e4m3_scale(peak, job.to.e4m3_scales + row);
    is_first = false;
  }
  for_batches(
      begin, end, [&](int at) { return reader.value(at, is_first); },
      [&](const Quad& quad, int at) {
        write_forms<kAligned>(job, row, at, end, inverse_scale, quad);
      });
}

bool is_valid(const RowPreparation& job) {
  const bool gates =
      job.function == RowFunction::kSiluUp || job.function == RowFunction::kGeluTanhUp;
  const RowForms& to = job.to;
  if (job.rows < 0 || job.rows > 0x7fffffff || job.width < 1) return false;
  if (job.x == nullptr || gates != (job.up != nullptr)) return false;
  if ((job.function == RowFunction::kRmsNorm) != (job.weight != nullptr)) return false;
  if (job.addend == nullptr ? job.sum != nullptr : gates) return false;
  if ((to.e4m3 != nullptr) != (to.e4m3_scales != nullptr)) return false;
  if ((to.q8 != nullptr) != (to.q8_notes != nullptr)) return false;
  return to.q8 == nullptr || job.width % 32 == 0;
}

bool allows_full_accesses(const RowPreparation& job) {
  const RowForms& to = job.to;
  bool aligned = job.width % 4 == 0;
  const void* const pointers[] = {job.x,  job.weight, job.up, job.addend, job.sum,
                                  to.f32, to.bf16,    to.f16, to.e4m3,    to.q8};
  for (const void* pointer : pointers) aligned = aligned && is_aligned(pointer);
  return aligned;
}

unsigned rounded_to_warps(int threads) { return static_cast<unsigned>((threads + 31) / 32 * 32); }

template <RowFunction kFunction>
cudaError_t launch_for(const RowPreparation& job, cudaStream_t stream) {
  const bool whole = kFunction == RowFunction::kRmsNorm || job.to.e4m3 != nullptr;
  // a thread has one batch of a row where 1,024 threads suffice; cut rows: more, smaller parts for
  // the few rows of a decode step
  int columns = job.rows < 64 ? 512 : 2048;
  if (whole || columns > job.width) columns = job.width;
  const int quads = (columns + kQuadColumns - 1) / kQuadColumns;
  int threads = whole ? (quads + kBatch - 1) / kBatch : quads < 128 ? quads : 128;
  if (whole && threads < 128) threads = quads < 128 ? quads : 128;
  if (threads > 1024) threads = 1024;
  const dim3 grid(static_cast<unsigned>(job.rows),
                  static_cast<unsigned>((job.width + columns - 1) / columns));
  const auto kernel =
      allows_full_accesses(job) ? prepare<kFunction, true> : prepare<kFunction, false>;
  return launch(stream, grid, rounded_to_warps(threads), kernel, job, columns);
}

}  // namespace

cudaError_t prepare_rows(const RowPreparation& job, cudaStream_t stream) {
  if (!is_valid(job)) return cudaErrorInvalidValue;
  if (job.rows == 0) return cudaSuccess;
  switch (job.function) {
    case RowFunction::kRmsNorm:
      return launch_for<RowFunction::kRmsNorm>(job, stream);
    case RowFunction::kSiluUp:
      return launch_for<RowFunction::kSiluUp>(job, stream);
    case RowFunction::kGeluTanhUp:
      return launch_for<RowFunction::kGeluTanhUp>(job, stream);
    default:
      return launch_for<RowFunction::kNone>(job, stream);
  }
}

}  // namespace tandem::gpu_kernels
