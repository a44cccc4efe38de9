// SPDX-License-Identifier: Apache-2.0
//
// CudaComputeUnit: attention inside chunks, and the merge of partial results.
#include <algorithm>
#include <cmath>

#include "attention/merge.h"
#include "attention/prefill.h"
#include "common/error.h"
#include "cuda/compute/compute_unit.h"
#include "cuda/compute/kv_types.h"

namespace tandem::cuda {

using device::CausalAttentionOp;
using device::CausalChunk;
using device::MergeOp;
using device::MergePartial;

namespace {

struct CausalLaunch {
  const gpu_kernels::PrefillBucket* bucket = nullptr;
  gpu_kernels::CausalAttention job;
};

cudaError_t launch_causal(const CausalLaunch& launch, cudaStream_t stream) {
  return gpu_kernels::causal_attention(*launch.bucket, launch.job, stream);
}

bool is_stored(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kI8 || dtype == DType::kF8E4M3;
}

// The number of rows up to the end of the last chunk.
std::size_t check(const CausalAttentionOp& op) {
  if (op.kv_heads <= 0 || op.q_heads <= 0 || op.q_heads % op.kv_heads != 0) {
    throw Error("cuda", "causal attention: q_heads must be a multiple of kv_heads");
  }
  if (op.head_dim <= 0 || op.head_dim > 256) {
    throw Error("cuda", "causal attention: head_dim must be in 1..256");
  }
  if (!is_stored(op.kv_dtype)) {
    throw Error("cuda", "causal attention: kv_dtype must be f32, f16, bf16, i8 or f8_e4m3");
  }
  if (!(op.softcap >= 0.0f) || !std::isfinite(op.softcap)) {
    throw Error("cuda",
                "causal attention: softcap must be finite and not negative; 0 caps nothing");
  }
  if (op.window < 0) throw Error("cuda", "causal attention: window must not be negative");
  std::size_t rows = 0;
  for (const CausalChunk& chunk : op.chunks) {
    if (chunk.row_begin < 0 || chunk.num_rows < 0) {
      throw Error("cuda", "causal attention: a chunk has a negative row or count");
    }
    rows = std::max(rows, static_cast<std::size_t>(chunk.row_begin) + chunk.num_rows);
  }
  return rows;
}

}  // namespace

const gpu_kernels::PrefillBucket& CudaComputeUnit::causal_bucket(const CausalAttentionOp& op,
                                                                 std::size_t num_rows) {
  const CausalKey key{op.kv_dtype,        op.q_heads, op.kv_heads,
                      op.head_dim,        op.window,  about(sequences_.size(), 4),
                      about(num_rows, 64)};
  const auto& bucket = causal_buckets_.find(key, [&] {
    gpu_kernels::PrefillShape shape;
    shape.type = kv_type(op.kv_dtype);
    shape.unrounded = op.kv_dtype == DType::kF32;
    shape.q_heads = op.q_heads;
    shape.kv_heads = op.kv_heads;
    shape.head_dim = op.head_dim;
    shape.window = op.window;
    shape.block_bytes = gpu_.traits.block_shared_bytes;
    shape.path = causal_path_;
    return gpu_kernels::make_prefill_bucket(shape, key.sequences, key.rows);
  });
  if (bucket.num_tiles == 0) {
    throw Error("cuda", "causal attention: no kernel takes heads of " +
                            std::to_string(op.head_dim) +
                            " values on this GPU, whose blocks have " +
                            std::to_string(gpu_.traits.block_shared_bytes / 1024) +
                            " KiB of shared memory");
  }
  return bucket;
}

void CudaComputeUnit::handle(const CausalAttentionOp& op) {
  const std::size_t rows = check(op);
  const std::size_t q_size = rows * op.q_heads * op.head_dim;
  const std::size_t kv_size = rows * op.kv_heads * op.head_dim;
  const float* q = floats(op.q, q_size, "causal attention: q");
  const float* k = floats(op.k, kv_size, "causal attention: k");
  const float* v = floats(op.v, kv_size, "causal attention: v");
  float* o = floats(op.o, q_size, "causal attention: o");
  float* lse = floats(op.lse, rows * op.q_heads, "causal attention: lse");
  sequences_.clear();
  std::size_t num_rows = 0;
  for (const CausalChunk& chunk : op.chunks) {
    if (chunk.num_rows == 0) continue;
    sequences_.push_back({.q_begin = chunk.row_begin, .num_q = chunk.num_rows});
    num_rows += chunk.num_rows;
  }
  if (sequences_.empty()) return;
  const gpu_kernels::PrefillBucket& bucket = causal_bucket(op, num_rows);
  queue_.begin(bucket.plan_bytes, 1, bucket.workspace_bytes);
  const Queue::StagedRoom room = queue_.stage_room(bucket.plan_bytes);
  TANDEM_CHECK(gpu_kernels::plan_prefill(bucket, sequences_, {room.host, bucket.plan_bytes}));
  auto& launch = queue_.add<launch_causal>("attending inside chunks");
  launch.bucket = &bucket;
  launch.job.attention.plan = room.device;
  launch.job.attention.scale = op.scale;
  launch.job.attention.softcap = op.softcap;
  launch.job.attention.q = q;
  launch.job.attention.o = o;
  launch.job.attention.lse = lse;
  launch.job.k = k;
  launch.job.v = v;
  launch.job.workspace = queue_.scratch();
  ops_ += 1;
}

void CudaComputeUnit::handle(const MergeOp& op) {
  if (op.rows < 0 || op.heads <= 0 || op.head_dim <= 0) {
    throw Error("cuda", "merge: rows, heads or head_dim is not positive");
  }
  const auto rows = static_cast<std::size_t>(op.rows);
  const std::size_t heads = rows * static_cast<std::size_t>(op.heads);
  const std::size_t values = heads * static_cast<std::size_t>(op.head_dim);
  float* out = floats(op.out, values, "merge: out");
  covers_.clear();
  std::size_t listed = 0;
  for (const MergePartial& partial : op.partials) {
    for (const std::int32_t row : partial.rows) {
      if (row < 0 || row >= op.rows) {
        throw Error("cuda", "merge: row " + std::to_string(row) + " is outside the " +
                                std::to_string(op.rows) + " rows of the result");
      }
    }
    listed += partial.rows.size();
    covers_.push_back(
        {{floats(partial.o, values, "merge: o"), floats(partial.lse, heads, "merge: lse")},
         partial.rows});
  }
  if (rows == 0) return;
  const std::size_t bytes = gpu_kernels::merge_coverage_bytes(op.rows, listed);
  queue_.begin(bytes, 1);
  const Queue::StagedRoom room = queue_.stage_room(bytes);
  TANDEM_CHECK(gpu_kernels::plan_merge(op.rows, covers_, {room.host, bytes}));
  auto& job = queue_.add<gpu_kernels::merge_partials>("merging partial results");
  job.rows = op.rows;
  job.heads = op.heads;
  job.head_dim = op.head_dim;
  job.coverage = room.device;
  job.out = out;
  ops_ += 1;
}

}  // namespace tandem::cuda
