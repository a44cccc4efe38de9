// SPDX-License-Identifier: Apache-2.0
//
// ComputeUnit: where the dense part of a transformer layer runs.
//
// Operations are values (Op, compute_ops.h) on the unit's own buffers, enqueued in order. A prefill
// chunk and a decode batch are the same calls with more or fewer rows. Activations are f32,
// row-major [rows, width]; weights keep the type of the model file. Ownership: buffers and weights
// belong to the caller and must outlive the first wait() after their last use. The caller may reuse
// host lists of an operation (ids, positions, rows) when enqueue() returns. Threads: one submitting
// thread per unit. Errors: enqueue() throws Error on arguments that break the stated shapes. wait()
// throws DeviceError when the device failed; its buffers are then undefined, and the caller must
// discard the unit. Numerics: every operation accumulates in f32 or wider. A row's result does not
// depend on the other rows of the call, except for the order of additions in a matrix product.
// Before a product, activations may be rounded: for quantised weights to 8 bits with a scale per 32
// values of a row, for 16-bit or 8-bit float weights to bf16 or f16. (The CPU rounds for quantised,
// bf16 and e4m3 weights; GPUs for all of these.) f32 weights are multiplied in f32. e4m3 weights
// are multiplied exactly, and the sum of each block is multiplied by its scale; only a GPU with
// many rows rounds a weight times its scale to bf16.
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

// The use of a weight. A unit stores the weight in the order that this use needs.
enum class WeightRole {
  kProduct,  // matrix products; a vector also as kVector
  kTable,    // EmbedOp
  kBoth,     // a table that is also the output projection
  kVector    // norms and biases alone: out_features = 1
};

// How units that share a layer's products may divide a weight: by outputs (rows of W; the values of
// a vector, such as a bias), or by inputs (columns). By inputs, each unit gets partial sums.
enum class WeightSplit { kNone, kOutputs, kInputs };

// A weight matrix y = W x, W [out_features, in_features] row-major in `dtype` (a vector:
// out_features = 1). `data` (a memory-mapped file) is borrowed as long as the Weight made from it
// exists, because units in host memory may use it in place; if `transient`, only during load().
struct WeightSource {
  DType dtype = DType::kF32;
  std::int64_t out_features = 0;
  std::int64_t in_features = 0;
  const std::byte* data = nullptr;  // [out_features, in_features]
  WeightRole role = WeightRole::kProduct;
  bool transient = false;
  // Only composite units (drivers/parallel) read these two.
  // -1: the weight is before all layers (kTable, kBoth) or after them (other roles)
  int layer = -1;
  WeightSplit split = WeightSplit::kNone;
  // The f32 factors of values in kF8E4M3 (kProduct only); empty: all 1. Read during load() only.
  // The loader has refused NaN (tensor/f8_codes.h).
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
  // Whether host() shows the contents of device buffers, so that nothing needs to be copied.
  virtual bool device_memory_is_host() const { return false; }
  virtual std::unique_ptr<Weight> load(const WeightSource& source) = 0;

  // Whether the unit has operations of this kind. Every unit has those of a model's layers; rings
  // (PostOp, AwaitOp) and SampleOp are optional. A unit with rings hands rows to threads of the
  // host. Such threads must not depend on the thread that enqueues: see
  // AttentionUnit::may_have_own_thread().
  virtual bool supports(OpKind kind) const = 0;

  // Throws Error if supports() is false. Copies the lists that the operation names only if the work
  // is done after enqueue() returns.
  virtual void enqueue(const Op& op) = 0;

  // The number of rows to which a step of `rows` decode rows should be padded. A unit that caches
  // the launches of a step by its sizes needs few different sizes. Padding costs activations only.
  virtual std::size_t padded_rows(std::size_t rows) const { return rows; }

  // Marks the point after everything enqueued so far; wait() returns when the device passed it.
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
