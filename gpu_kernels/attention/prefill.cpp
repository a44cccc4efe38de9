// SPDX-License-Identifier: Apache-2.0
//
// Checks shapes, rounds a causal call's k and v into its workspace, and starts the kernel of the
// stored type.
#include "attention/prefill.h"

#include <bit>

#include "attention/prefill_job.h"

namespace tandem::gpu_kernels {
namespace {

PrefillJob make_job(const PrefillBucket& bucket, const PrefillAttention& attention) {
  PrefillJob job;
  job.tiles = view_prefill_plan(bucket, attention.plan).tiles;
  job.q = attention.q;
  job.o = attention.o;
  job.lse = attention.lse;
  job.scale = attention.scale;
  job.softcap = attention.softcap;
  job.q_heads = bucket.shape.q_heads;
  job.kv_heads = bucket.shape.kv_heads;
  job.group = bucket.shape.q_heads / bucket.shape.kv_heads;
  job.head_dim = bucket.shape.head_dim;
  job.window = bucket.shape.window;
  job.causal = bucket.shape.page_tokens == 0;
  job.tile_keys = bucket.tile_keys;
  job.stores_pairs =
      job.head_dim % 2 == 0 && reinterpret_cast<std::uintptr_t>(job.o) % sizeof(float2) == 0;
  return job;
}

// Rows of a layer are counted in 32 bits.
bool set_pages(const KvPool& pool, int layer, PrefillJob& job) {
  const std::size_t rows = pool.num_pages * kv_page_rows(pool);
  if (rows >= 0xffffffffu) return false;
  const std::size_t row = kv_row(pool, layer, 0, false, 0, 0);
  const int row_bytes = kv_row_values(pool.head_dim) * value_bytes_of(pool.type);
  job.values = static_cast<const char*>(pool.values) + row * static_cast<std::size_t>(row_bytes);
  if (has_scales(pool.type)) job.scales = pool.scales + row;
  job.page_shift = std::countr_zero(static_cast<unsigned>(pool.page_tokens));
  job.v_rows = static_cast<std::uint32_t>(pool.kv_heads * pool.page_tokens);
  job.num_rows = static_cast<std::uint32_t>(rows);
  return true;
}

cudaError_t start(const PrefillBucket& bucket, const PrefillJob& job, cudaStream_t stream) {
  if (bucket.shape.path == KernelPath::kHopper) return prefill_hopper(job, bucket, stream);
  if (bucket.shape.unrounded) return prefill_f32(job, bucket.num_tiles, stream);
  switch (bucket.shape.type) {
    case KvType::kF16:
      return prefill_f16(job, bucket.num_tiles, bucket.shape.exact, stream);
    case KvType::kBF16:
      return prefill_bf16(job, bucket.num_tiles, bucket.shape.exact, stream);
    case KvType::kI8:
      return prefill_i8(job, bucket.num_tiles, stream);
    case KvType::kE4M3:
      return prefill_e4m3(job, bucket.num_tiles, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t causal_attention(const PrefillBucket& bucket, const CausalAttention& job,
                             cudaStream_t stream) {
  if (bucket.num_tiles == 0 || bucket.shape.page_tokens != 0) return cudaErrorInvalidValue;
  PrefillJob kernel = make_job(bucket, job.attention);
  if (bucket.shape.unrounded) {
    kernel.k = job.k;
    kernel.v = job.v;
    return start(bucket, kernel, stream);
  }
  AppendKv append;
  append.pool = workspace_pool(bucket, job.workspace);
  append.num_places = bucket.max_rows;
  append.places = view_prefill_plan(bucket, job.attention.plan).places;
  append.k = job.k;
  append.v = job.v;
  if (!set_pages(append.pool, 0, kernel)) return cudaErrorInvalidValue;
  const cudaError_t error = append_kv(append, stream);
  return error == cudaSuccess ? start(bucket, kernel, stream) : error;
}

cudaError_t paged_attention(const PrefillBucket& bucket, const PagedAttention& job,
                            cudaStream_t stream) {
  const PrefillShape& shape = bucket.shape;
  const KvPool& pool = job.pool;
  if (bucket.num_tiles == 0 || shape.page_tokens == 0 || !is_valid(pool) ||
      pool.type != shape.type || pool.kv_heads != shape.kv_heads ||
      pool.head_dim != shape.head_dim || pool.page_tokens != shape.page_tokens || job.layer < 0 ||
      job.layer >= pool.num_layers) {
    return cudaErrorInvalidValue;
  }
  PrefillJob kernel = make_job(bucket, job.attention);
  kernel.pages = job.pages;
  return set_pages(pool, job.layer, kernel) ? start(bucket, kernel, stream) : cudaErrorInvalidValue;
}

}  // namespace tandem::gpu_kernels
