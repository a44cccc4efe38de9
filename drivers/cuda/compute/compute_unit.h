// SPDX-License-Identifier: Apache-2.0
//
// CudaComputeUnit: the dense operations of a transformer layer on a GPU (contract:
// device/compute_unit.h).
//
// enqueue() checks its operands and appends launches to the GPU's queue (queue/queue.h), which all
// units of the GPU share. record() flushes the queue; a step that was seen before runs as one CUDA
// graph. Host buffers are pinned memory that kernels read and write over the link. Rotation angles
// of the last few sets of positions are kept, so a step computes them once. Threads: one submitter
// for all units of the GPU; stats() from it. Errors: Error for operands and for memory that an
// operation needs; DeviceError once the GPU is lost.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "attention/merge.h"
#include "attention/prefill_plan.h"
#include "cuda/compute/sampling.h"
#include "cuda/experts/experts.h"
#include "cuda/gpu/buffer.h"
#include "cuda/gpu/gpu.h"
#include "cuda/products/linear.h"
#include "cuda/queue/buckets.h"
#include "device/compute_unit.h"
#include "device/op_dispatch.h"
#include "rope/rope.h"

namespace tandem::cuda {

class CudaComputeUnit final : public device::ComputeUnit {
 public:
  explicit CudaComputeUnit(Gpu& gpu);
  ~CudaComputeUnit() override;

  std::unique_ptr<device::Buffer> allocate(std::size_t size_bytes,
                                           device::MemoryKind kind) override;
  std::unique_ptr<device::Weight> load(const device::WeightSource& source) override;

  bool supports(device::OpKind kind) const override {
    return device::OpDispatch<CudaComputeUnit>::supports(kind);
  }
  void enqueue(const device::Op& op) override {
    device::OpDispatch<CudaComputeUnit>::enqueue(*this, op);
  }

  std::size_t padded_rows(std::size_t rows) const override { return row_bucket(rows); }

  device::Ticket record() override;
  device::WaitResult wait(device::Ticket ticket, Deadline deadline) override;
  device::ComputeStats stats() const override;

  Gpu& gpu() { return gpu_; }
  const Gpu& gpu() const { return gpu_; }

 private:
  friend class device::OpDispatch<CudaComputeUnit>;
  void handle(const device::EmbedOp& op);
  void handle(const device::RmsNormOp& op);
  void handle(const device::LinearOp& op);
  void handle(const device::RopeOp& op);
  void handle(const device::SoftcapOp& op);
  void handle(const device::CausalAttentionOp& op);
  void handle(const device::MergeOp& op);
  void handle(const device::GatherRowsOp& op);
  void handle(const device::ExpertsOp& op);
  void handle(const device::GatedAddOp& op);
  void handle(const device::CopyOp& op);
  void handle(const device::SampleOp& op);
  void handle(const device::PostOp& op);
  void handle(const device::AwaitOp& op);

  // cos and sin of positions and frequencies: [rows, 2, pairs] in device memory.
  struct Angles {
    const std::int32_t* source = nullptr;  // host address of the positions; only compared
    std::vector<std::int32_t> positions;
    std::vector<float> inverse_frequencies;
    float magnitude = 0;
    PoolRange table;
    std::uint64_t last_used = 0;
    std::uint64_t position = 0;  // of the queue's sequence that writes the table
  };

  // The parameters by which launches of causal attention share a bucket.
  struct CausalKey {
    DType kv_dtype;
    int q_heads, kv_heads, head_dim, window, sequences, rows;
    bool operator==(const CausalKey&) const = default;
  };

  float* floats(const device::Slice& slice, std::size_t count, const char* what) const {
    return floats_of(gpu_, slice, count, what);
  }
  Angles& place_of_angles(const device::RopeOp& op);
  const Angles& angles_of(const device::RopeOp& op);
  void collect_rope_targets(const device::RopeOp& op);
  const gpu_kernels::PrefillBucket& causal_bucket(const device::CausalAttentionOp& op,
                                                  std::size_t num_rows);

  Gpu& gpu_;
  Queue& queue_;
  Upload upload_;
  Linear linear_;
  Experts experts_;
  Sampling sampling_;
  const gpu_kernels::KernelPath causal_path_;
  // Buffers of one operation; kept so that their memory is reused.
  std::vector<LinearOutput> outputs_;
  std::vector<gpu_kernels::RopeTarget> rope_targets_;
  std::vector<gpu_kernels::PrefillSequence> sequences_;
  std::vector<gpu_kernels::MergeCover> covers_;
  std::array<Angles, 4> angles_;
  Buckets<CausalKey, gpu_kernels::PrefillBucket> causal_buckets_;
  std::uint64_t ops_ = 0, weight_bytes_ = 0;
};

}  // namespace tandem::cuda
