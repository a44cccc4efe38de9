// SPDX-License-Identifier: Apache-2.0
//
// ComputeUnit: where the dense part of a transformer layer runs.
//
// Operations are values (Op, compute_ops.h) on the unit's own buffers, enqueued in order; a prefill
// chunk and a decode batch are the same calls with more or fewer rows. Activations are f32,
// row-major [rows, width]; weights keep the type of the model file. Ownership: buffers and weights
// belong to the caller and must live until a wait() after their last use; host spans inside a
// descriptor (ids, positions, row lists) are copied by enqueue(). Threads: one submitting thread
// per unit. Failure: enqueue() throws Error on arguments that break the stated shapes; wait()
// throws DeviceError when the device failed, after which buffers are undefined and the unit must be
// discarded. Numerics: every op accumulates in f32 (or wider); the result of a row does not depend
// on which other rows share the call, except by the order of additions inside a matrix product.
// Before a product with quantised weights the unit may round activations to 8 bits, a scale per 32
// values of a row, and before one with 16-bit or 8-bit float weights to bf16 or f16 (the CPU does
// the first, and rounds for bf16 and e4m3; GPUs do all); f32 weights are multiplied in f32.
// Products of e4m3 weights are exact before they are added, and each block's sum is multiplied by
// its scale, but for many rows on a GPU, where a weight times its scale is rounded to bf16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/deadline.h"
#include "device/attention_unit.h"
#include "device/buffer.h"
#include "device/compute_ops.h"
#include "tensor/dtype.h"
#include "tensor/weight_scales.h"

namespace tandem::device {

// What a weight is for: a unit keeps it in the order that this needs.
enum class WeightRole {
  kProduct,  // matrix products; of a vector also what kVector says
  kTable,    // EmbedOp
  kBoth,     // a table that is also the output projection
  kVector    // norms and biases alone: out_features = 1
};

// How units that share a layer's products may divide a weight among them: by outputs (rows of W; of
// a vector, such as a bias, its values), or by inputs (columns), which leaves sums to be added up.
enum class WeightSplit { kNone, kOutputs, kInputs };

// A weight matrix y = W x, W [out_features, in_features] row-major in `dtype` (a vector:
// out_features = 1). `data` is borrowed for the life of the Weight made from it (a memory-mapped
// file), which units in host memory may use in place; when `transient`, only during load().
struct WeightSource {
  DType dtype = DType::kF32;
  std::int64_t out_features = 0;
  std::int64_t in_features = 0;
  const std::byte* data = nullptr;  // [out_features, in_features]
  WeightRole role = WeightRole::kProduct;
  bool transient = false;
  // For units that are made of several (drivers/parallel); others need neither.
  int layer = -1;  // -1: in front of all layers (kTable, kBoth) or behind them
  WeightSplit split = WeightSplit::kNone;
  // Of values in kF8E4M3, which are for kProduct only: what they are multiplied by, in f32 (none:
  // ones). Read during load() only. Whoever loads has refused NaN (tensor/f8_codes.h).
  WeightScales scales;
};

class Weight {
 public:
  virtual ~Weight() = default;
  virtual std::int64_t out_features() const = 0;
  virtual std::int64_t in_features() const = 0;
  virtual std::size_t size_bytes() const = 0;
  // Whether the unit's work reads the data of the WeightSource after load().
  virtual bool borrows_source() const { return true; }
};

struct ComputeStats {
  std::uint64_t ops = 0;
  std::uint64_t weight_bytes_read = 0;
  double busy_seconds = 0;
};

class ComputeUnit {
 public:
  virtual ~ComputeUnit() = default;

  virtual std::unique_ptr<Buffer> allocate(std::size_t size_bytes, MemoryKind kind) = 0;
  // Whether host() of its device buffers shows them, so that nothing needs to be copied.
  virtual bool device_memory_is_host() const { return false; }
  virtual std::unique_ptr<Weight> load(const WeightSource& source) = 0;

  // Whether the unit has operations of this kind. Every unit has those of a model's layers; rings
  // (PostOp, AwaitOp) and SampleOp are optional. A unit with rings hands rows to threads of the
  // host. Such threads must not depend on the thread that enqueues: see
  // AttentionUnit::may_have_own_thread().
  virtual bool supports(OpKind kind) const = 0;

  // Throws Error where supports() is false. Copies no list that the operation names, unless the
  // work is done after enqueue() returns.
  virtual void enqueue(const Op& op) = 0;

  // How many rows a step of `rows` decode rows is best filled up to: a unit that keeps a step's
  // launches by its sizes asks for few sizes. Rows that are added cost what activations do.
  virtual std::size_t padded_rows(std::size_t rows) const { return rows; }

  // Marks the point behind everything enqueued so far; wait() returns when the device has passed
  // it.
  virtual Ticket record() = 0;
  virtual WaitResult wait(Ticket ticket, Deadline deadline) = 0;

  virtual ComputeStats stats() const = 0;
};

// Whether the unit has all of these operations.
template <typename... Operations>
bool supports(const ComputeUnit& unit) {
  return (unit.supports(op_kind<Operations>) && ...);
}

}  // namespace tandem::device
