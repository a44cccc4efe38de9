// SPDX-License-Identifier: Apache-2.0
//
// export_pages() and import_pages(): a block per page, layer, and part of its rows. One walk serves
// both directions, in words of 16, 4, 2 or 1 bytes, the widest that divides a row of an image.
#include "kv_cache/page_image.h"

#include "common/launch.cuh"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlockRows = 64;  // of k or v; a page of a layer has a multiple of 32

template <bool kExport, typename Word>
__device__ void move_word(Word& in_pool, Word& in_image) {
  if constexpr (kExport) {
    in_image = in_pool;
  } else {
    in_pool = in_image;
  }
}

// Grid: [part of the rows, layer, page]. Padding of the pool is zeroed by an import.
template <bool kExport, typename Word>
__global__ __launch_bounds__(kThreads) void move_rows(const __grid_constant__ MovePages job,
                                                      unsigned pool_row_bytes,
                                                      unsigned image_row_bytes,
                                                      std::size_t image_bytes) {
  let_next_start();
  wait_for_previous();
  const std::size_t page_rows = kv_page_rows(job.pool);
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kBlockRows;
  const std::size_t pool_row =
      kv_row(job.pool, static_cast<int>(blockIdx.y), job.pages[blockIdx.z], false, 0, 0) + first;
  const std::size_t image_row = blockIdx.y * page_rows + first;
  const auto num_rows =
      static_cast<unsigned>(page_rows - first < kBlockRows ? page_rows - first : kBlockRows);
  unsigned char* image = static_cast<unsigned char*>(job.images) + blockIdx.z * image_bytes;
  const unsigned pool_words = pool_row_bytes / sizeof(Word);
  const unsigned image_words = image_row_bytes / sizeof(Word);
  auto* in_pool = reinterpret_cast<Word*>(static_cast<unsigned char*>(job.pool.values) +
                                          pool_row * pool_row_bytes);
  auto* in_image = reinterpret_cast<Word*>(image + image_row * image_row_bytes);
  for (unsigned at = threadIdx.x; at < num_rows * pool_words; at += kThreads) {
    const unsigned row = at / pool_words, word = at % pool_words;
    if (word < image_words) {
      move_word<kExport>(in_pool[at], in_image[row * image_words + word]);
    } else if (!kExport) {
      in_pool[at] = Word{};
    }
  }
  if (!has_scales(job.pool.type)) return;
  const std::size_t image_rows = static_cast<std::size_t>(job.pool.num_layers) * page_rows;
  auto* scales = reinterpret_cast<float*>(image + image_rows * image_row_bytes) + image_row;
  for (unsigned row = threadIdx.x; row < num_rows; row += kThreads) {
    move_word<kExport>(job.pool.scales[pool_row + row], scales[row]);
  }
}

template <bool kExport, typename Word>
cudaError_t start(const MovePages& job, cudaStream_t stream) {
  const auto row_values = static_cast<unsigned>(kv_row_values(job.pool.head_dim));
  const auto value_bytes = static_cast<unsigned>(value_bytes_of(job.pool.type));
  const std::size_t parts = (kv_page_rows(job.pool) + kBlockRows - 1) / kBlockRows;
  const dim3 grid(static_cast<unsigned>(parts), static_cast<unsigned>(job.pool.num_layers),
                  static_cast<unsigned>(job.num_pages));
  return launch(stream, grid, kThreads, move_rows<kExport, Word>, job, row_values * value_bytes,
                static_cast<unsigned>(job.pool.head_dim) * value_bytes, page_image_bytes(job.pool));
}

template <bool kExport>
cudaError_t move_pages(const MovePages& job, cudaStream_t stream) {
  if (!is_valid(job.pool) || job.num_pages < 0 || job.num_pages > 65535) {
    return cudaErrorInvalidValue;
  }
  if (job.num_pages == 0) return cudaSuccess;
  const int row_bytes = job.pool.head_dim * value_bytes_of(job.pool.type);
  if (row_bytes % 16 == 0) return start<kExport, uint4>(job, stream);
  if (row_bytes % 4 == 0) return start<kExport, std::uint32_t>(job, stream);
  return row_bytes % 2 == 0 ? start<kExport, std::uint16_t>(job, stream)
                            : start<kExport, unsigned char>(job, stream);
}

}  // namespace

cudaError_t export_pages(const MovePages& job, cudaStream_t stream) {
  return move_pages<true>(job, stream);
}

cudaError_t import_pages(const MovePages& job, cudaStream_t stream) {
  return move_pages<false>(job, stream);
}

}  // namespace tandem::gpu_kernels
