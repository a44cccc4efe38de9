// SPDX-License-Identifier: Apache-2.0
//
// TensorSplitUnit: a compute unit over several that share every layer (contract:
// device/compute_unit.h), as in Megatron-LM (Shoeybi et al. 2019, section 3).
//
// Products are divided by outputs or by inputs (multiply_columns(), multiply_rows()). Heads,
// rotation, causal attention and merges work on the columns of their unit. Experts are divided like
// the dense feed-forward. Every unit computes the rest (norms, routers, the residual) itself, so
// the units must be of one kind. tensor_buffer.h says which ranges are whole. Numerics: as one
// unit, except that a sum over inputs is an f32 sum of N sums. Cost: one thread enqueues every
// operation N times. Threads: one submitter; stats() from any.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "device/op_dispatch.h"
#include "device/reducer.h"
#include "parallel/tensor_buffer.h"
#include "parallel/tensor_weight.h"
#include "parallel/unit_group.h"

namespace tandem::device::parallel {

class TensorSplitUnit final : public ComputeUnit {
 public:
  // peers, reducer: null for those through host memory. book: where attention units find buffers.
  TensorSplitUnit(std::vector<std::unique_ptr<ComputeUnit>> units, std::unique_ptr<PeerCopy> peers,
                  std::unique_ptr<Reducer> reducer, std::shared_ptr<AddressBook> book = nullptr);
  ~TensorSplitUnit() override;

  std::unique_ptr<Buffer> allocate(std::size_t size_bytes, MemoryKind kind) override;
  std::unique_ptr<Weight> load(const WeightSource& source) override;

  bool supports(OpKind kind) const override { return OpDispatch<TensorSplitUnit>::supports(kind); }
  // Errors: Error naming the numbers if rows, heads or blocks do not divide. If any unit fails,
  // wait() throws DeviceError and the composite is lost.
  void enqueue(const Op& op) override { OpDispatch<TensorSplitUnit>::enqueue(*this, op); }

  Ticket record() override { return group_.record(); }
  WaitResult wait(Ticket ticket, Deadline deadline) override;
  ComputeStats stats() const override { return group_.stats(); }

  // unit() and the functions after it are for attention units that work in the units' queues. They
  // give [rows, width] of a buffer by columns.
  ComputeUnit& unit(int index) { return group_.unit(index); }
  void make_shards(const Slice& slice, std::int64_t rows, std::int64_t width);
  void mark_shards(const Slice& slice, std::int64_t rows, std::int64_t width);
  Slice shard(int unit, const Slice& slice) const;

 private:
  friend class OpDispatch<TensorSplitUnit>;
  void handle(const EmbedOp& op);
  void handle(const RmsNormOp& op);
  void handle(const LinearOp& op);
  void handle(const RopeOp& op);
  void handle(const SoftcapOp& op);
  void handle(const CausalAttentionOp& op);
  void handle(const MergeOp& op);
  void handle(const GatherRowsOp& op);
  void handle(const ExpertsOp& op);
  void handle(const GatedAddOp& op);
  void handle(const CopyOp& op);

  class CompositeBuffer;  // a TensorBuffer that registers itself
  struct Reduced;         // the place where a sum is stored

  TensorBuffer& buffer_of(const Slice& slice) const;
  const TensorWeight& weight_of(const Weight* weight, const char* what) const;

  // Order within one operation: make_whole() of all inputs, mark_whole() of all outputs, then
  // read() and write() for every unit that runs it.
  void make_whole(const Slice& slice, std::size_t size_bytes) const;
  void mark_whole(const Slice& slice, std::size_t size_bytes) const;
  Slice read(int unit, const Slice& slice, std::size_t size_bytes) const;
  Slice write(int unit, const Slice& slice, std::size_t size_bytes) const;
  bool in_shards(const Slice& slice, std::int64_t rows, std::int64_t width) const;
  // Whether unit `unit` is among those that write `slice` whole.
  bool writes(int unit, const Slice& slice) const;

  // A product with a weight of kOutputs reads whole inputs. Each unit gets its columns of the
  // result.
  void multiply_columns(const LinearOp& op);
  std::vector<LinearTarget> local_targets(int unit, const LinearOp& op) const;
  // For a weight of kInputs, each unit multiplies its columns of the input. The Reducer adds these
  // partial sums. Only the first unit adds the residual, so the sum replaces it in place: two sums
  // per layer, no temporary.
  void multiply_rows(const LinearOp& op);
  // Prepares the parts of a sum; end_sum() adds them up.
  Reduced begin_sum(const Slice& out, std::size_t size_bytes, bool accumulate,
                    std::size_t scratch_at);
  void end_sum(const Reduced& sum);
  Slice zeros(int unit, std::size_t size_bytes);
  std::int64_t share_of(std::int64_t heads, const char* what) const;

  UnitGroup group_;
  std::unique_ptr<Reducer> reducer_;
  std::shared_ptr<AddressBook> book_;
  GatherScratch gathered_, summed_;
  std::vector<std::unique_ptr<Buffer>> zeros_;  // [units]
  std::set<TensorBuffer*> buffers_;
};

}  // namespace tandem::device::parallel
