// SPDX-License-Identifier: Apache-2.0
//
// Instances of row_products.cuh for the columns and types of its contract.
#include "sparse/row_products.h"

#include "common/launch.cuh"
#include "sparse/row_products.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr int kThreads = kRowWarps * kWarpLanes;
constexpr unsigned kMostParts = 1024;

template <int kFactors, int kColumns, typename Stored>
__global__ __launch_bounds__(kThreads) void sum_rows_kernel(RowSums job) {
  let_next_start();
  wait_for_previous();
  sum_row<kFactors, kColumns, Stored>(job);
}

__global__ __launch_bounds__(kThreads) void add_parts_kernel(RowSums job, unsigned columns) {
  let_next_start();
  wait_for_previous();
  add_parts(job, columns, static_cast<RowBegin>(blockIdx.x) * kThreads + threadIdx.x);
}

template <typename Stored>
__global__ __launch_bounds__(kThreads) void dot_rows_kernel(RowSums job) {
  let_next_start();
  wait_for_previous();
  dot_row<Stored>(job);
}

template <int kLength, typename Stored>
__global__ __launch_bounds__(kThreads) void dot_fibres_kernel(RowSums job) {
  let_next_start();
  wait_for_previous();
  dot_fibre<kLength, Stored>(job);
}

template <int kColumns>
__global__ __launch_bounds__(kThreads) void dot_entries_kernel(EntryDots job) {
  let_next_start();
  wait_for_previous();
  dot_entries<kColumns>(job);
}

template <int kColumns>
__global__ __launch_bounds__(kThreads) void attend_rows_kernel(EntryDots job) {
  let_next_start();
  wait_for_previous();
  attend_row<kColumns>(job);
}

unsigned row_blocks(unsigned rows) { return (rows - 1) / kRowWarps + 1; }

template <int kFactors, int kColumns, typename Stored>
cudaError_t start_sums(const RowSums& job, cudaStream_t stream) {
  const cudaError_t error = launch(stream, dim3(row_blocks(job.rows), job.parts), kThreads,
                                   sum_rows_kernel<kFactors, kColumns, Stored>, job);
  if (error != cudaSuccess || job.parts == 1) return error;
  const RowBegin blocks = (static_cast<RowBegin>(job.rows) * kColumns - 1) / kThreads + 1;
  return launch(stream, static_cast<unsigned>(blocks), kThreads, add_parts_kernel, job,
                static_cast<unsigned>(kColumns));
}

template <int kFactors, typename Stored>
cudaError_t sums_of_columns(const RowSums& job, int columns, cudaStream_t stream) {
  switch (columns) {
    case 16:
      return start_sums<kFactors, 16, Stored>(job, stream);
    case 32:
      return start_sums<kFactors, 32, Stored>(job, stream);
    case 64:
      return start_sums<kFactors, 64, Stored>(job, stream);
    case 128:
      return start_sums<kFactors, 128, Stored>(job, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

template <typename Stored>
cudaError_t dots_of_length(const RowSums& job, int length, cudaStream_t stream) {
  const unsigned blocks = (job.rows - 1) / kThreads + 1;
  switch (length) {
    case 0:
      return launch(stream, blocks, kThreads, dot_fibres_kernel<0, Stored>, job);
    case 1:
      return launch(stream, blocks, kThreads, dot_fibres_kernel<1, Stored>, job);
    case 2:
      return launch(stream, blocks, kThreads, dot_fibres_kernel<2, Stored>, job);
    case 3:
      return launch(stream, blocks, kThreads, dot_fibres_kernel<3, Stored>, job);
    case 4:
      return launch(stream, blocks, kThreads, dot_fibres_kernel<4, Stored>, job);
    default:
      return cudaErrorInvalidValue;
  }
}

bool is_float(ValueType type) { return type != ValueType::kF64 && type != ValueType::kU64; }

bool is_valid(const RowSums& job) {
  const bool has_bias = job.end == RowEnd::kNone || job.bias != nullptr;
  return job.parts >= 1 && job.parts <= kMostParts && has_bias &&
         (job.parts == 1 || job.partial != nullptr);
}

}  // namespace

cudaError_t sum_rows(const RowSums& job, int factors, int columns, ValueType type,
                     cudaStream_t stream) {
  if (!is_valid(job) || !is_float(type)) return cudaErrorInvalidValue;
  if (factors != 1 && type != ValueType::kF32) return cudaErrorInvalidValue;
  if (job.rows == 0) return cudaSuccess;
  switch (factors) {
    case 1:
      if (type == ValueType::kF16) return sums_of_columns<1, F16>(job, columns, stream);
      if (type == ValueType::kBF16) return sums_of_columns<1, BF16>(job, columns, stream);
      return sums_of_columns<1, float>(job, columns, stream);
    case 2:
      return sums_of_columns<2, float>(job, columns, stream);
    case 3:
      return sums_of_columns<3, float>(job, columns, stream);
    case 4:
      return sums_of_columns<4, float>(job, columns, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t dot_rows(const RowSums& job, ValueType type, cudaStream_t stream) {
  if (!is_valid(job) || job.parts != 1 || !is_float(type)) return cudaErrorInvalidValue;
  if (job.rows == 0) return cudaSuccess;
  const unsigned blocks = row_blocks(job.rows);
  if (type == ValueType::kF16) return launch(stream, blocks, kThreads, dot_rows_kernel<F16>, job);
  if (type == ValueType::kBF16) return launch(stream, blocks, kThreads, dot_rows_kernel<BF16>, job);
  return launch(stream, blocks, kThreads, dot_rows_kernel<float>, job);
}

cudaError_t dot_fibres(const RowSums& job, int length, ValueType type, cudaStream_t stream) {
  if (!is_valid(job) || job.parts != 1 || !is_float(type)) return cudaErrorInvalidValue;
  if (length < 0 || length > kMostFibreLength) return cudaErrorInvalidValue;
  if (job.rows == 0) return cudaSuccess;
  if (type == ValueType::kF16) return dots_of_length<F16>(job, length, stream);
  if (type == ValueType::kBF16) return dots_of_length<BF16>(job, length, stream);
  return dots_of_length<float>(job, length, stream);
}

cudaError_t dot_entries(const EntryDots& job, int columns, cudaStream_t stream) {
  if (columns != 32 && columns != 64 && columns != 128) return cudaErrorInvalidValue;
  if (job.rows == 0) return cudaSuccess;
  const unsigned blocks = row_blocks(job.rows);
  if (columns == 32) return launch(stream, blocks, kThreads, dot_entries_kernel<32>, job);
  if (columns == 64) return launch(stream, blocks, kThreads, dot_entries_kernel<64>, job);
  return launch(stream, blocks, kThreads, dot_entries_kernel<128>, job);
}

cudaError_t attend_rows(const EntryDots& job, int columns, cudaStream_t stream) {
  if (columns != 32 && columns != 64 && columns != 128) return cudaErrorInvalidValue;
  if (job.rows == 0) return cudaSuccess;
  const unsigned blocks = row_blocks(job.rows);
  if (columns == 32) return launch(stream, blocks, kThreads, attend_rows_kernel<32>, job);
  if (columns == 64) return launch(stream, blocks, kThreads, attend_rows_kernel<64>, job);
  return launch(stream, blocks, kThreads, attend_rows_kernel<128>, job);
}

}  // namespace tandem::gpu_kernels
