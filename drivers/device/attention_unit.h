// SPDX-License-Identifier: Apache-2.0
//
// AttentionUnit: a device or host memory that holds KV pages and runs decode attention (CPU, GPU,
// OpenCL device, FPGA card).
//
// A unit answers a batch of queries with partial results (O, LSE) over the pages it holds. Partials
// of several units merge exactly (MergeOp), so a sequence may be split over units in any way. There
// is no mask: every query of a sequence in a batch sees the same tokens. A prefill chunk attends
// here only to the tokens before the chunk; the compute unit does the causal part inside the chunk,
// which is one more partial. Rows with different ranges (a sliding window) are separate sequences
// over the same pages.
// Ownership: the unit owns the memory of its pages (ids 0 .. num_pages-1, undefined until
// appended); the caller decides who uses which page. Spans of a batch are borrowed until wait() of
// its ticket returns kDone or kLost. Order: batches of one unit take effect in submission order.
// Threads: one submitting thread per unit; capacity() and stats() from any. Errors: wrong arguments
// throw Error before anything is enqueued. After kLost all pages are lost, and every ticket, old or
// new, is kLost. If the device refuses one batch, wait() for its ticket or a later one throws
// Error; the results and appended tokens of that batch are undefined, and the unit stays usable.
// Numerics: f32 for every KV type; num_attend = 0 gives O = 0, LSE = -inf; NaN in K or Q yields NaN
// for that head only. How to add a backend: README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/deadline.h"
#include "tensor/dtype.h"

namespace tandem::device {

using PageId = std::uint32_t;

struct AttentionGeometry {
  int num_layers = 0;
  int q_heads = 0;  // a multiple of kv_heads
  int kv_heads = 0;
  int head_dim = 0;              // 1..256; a unit may pad rows inside its pages
  int page_tokens = 16;          // tokens per page, a power of two
  DType kv_dtype = DType::kF16;  // kF16, kBF16, kI8 or kF8E4M3; a unit refuses what it cannot store
};

// Whether the type has an f32 scale per token and head. kI8: max|x| / 127. kF8E4M3: the smallest
// power of two from 2^-126 to 2^119 for which |x| / scale is at most 448; larger values become 448
// * 2^119.
bool kv_has_scales(DType kv_dtype);

struct AttentionCapacity {
  std::uint32_t num_pages = 0;
  std::size_t page_bytes = 0;  // bytes of a page in this unit: K and V of all layers
  // The bandwidth of the memory that holds the pages: measured, else from the data sheet.
  double read_bandwidth_bytes_per_s = 0;
  double link_bandwidth_bytes_per_s = 0;  // host <-> unit; 0 if there is no link
  double link_latency_us = 0;             // time of submit() and wait() of an empty batch
};

// One sequence of a batch. "Held here" counts only the tokens in this unit's pages of the sequence.
struct AttentionSequence {
  std::int32_t q_begin = 0;    // first row of q (and of the result) of this sequence
  std::int32_t num_q = 0;      // rows of q; 0 appends only
  std::int32_t new_begin = 0;  // first row of k and v to append
  std::int32_t num_new = 0;    // rows to append; 0 attends only
  std::int32_t append_at = 0;  // index, among the tokens held here, of the first appended one
  // The queries see tokens [attend_begin, num_attend) of those held here, counted after the append.
  std::int32_t attend_begin = 0;  // not 0 only if DeviceInfo::attends_windows
  std::int32_t num_attend = 0;
  std::int32_t page_begin = 0;  // index of the sequence's first page in AttentionBatch::pages
  std::int32_t num_pages = 0;
};

// Rows to append and queries to answer for one layer of one sub-batch.
struct AttentionBatch {
  int layer = 0;
  float scale = 1.0f;        // applied to q k^T; 1/sqrt(head_dim) in most families
  float softcap = 0;         // finite; scores s become softcap * tanh(s / softcap); 0: as they are
  std::span<const float> q;  // [rows, q_heads, head_dim]
  std::span<const float> k, v;  // [rows, kv_heads, head_dim]
  std::span<const AttentionSequence> sequences;
  std::span<const PageId> pages;  // this unit's pages of each sequence, in token order
};

// The result of a query is at the query's row. Rows of no sequence in the batch do not change.
struct AttentionPartial {
  std::span<float> o;    // [rows, q_heads, head_dim]
  std::span<float> lse;  // [rows, q_heads], natural log
};

// Counters since the unit was made; monotonic.
struct AttentionStats {
  std::uint64_t launches = 0;         // descriptors submitted
  std::uint64_t bytes_to_unit = 0;    // q, k, v, descriptors (0 for host memory)
  std::uint64_t bytes_from_unit = 0;  // O, LSE
  std::uint64_t kv_bytes_read = 0;
  double busy_seconds = 0;  // sum over batches, from submit() to completion
};

using Ticket = std::uint64_t;  // each submission gets a larger one; 0 is never used

class ComputeUnit;

enum class WaitResult { kDone, kTimeout, kLost };

class AttentionUnit {
 public:
  virtual ~AttentionUnit() = default;

  virtual const AttentionGeometry& geometry() const = 0;
  virtual AttentionCapacity capacity() const = 0;

  // Enqueues append + attend. A unit in host memory may do the work inside wait().
  virtual Ticket submit(const AttentionBatch& batch, AttentionPartial out) = 0;

  // Whether the unit works in the queue of `compute`, as on one GPU. A batch then runs after
  // everything that was enqueued there before submit(), and before everything enqueued later,
  // without a wait. Its rows and results may be in device buffers of `compute`
  // (device_floats(slice)), and submit() copies the spans of sequences and pages.
  virtual bool works_in_queue_of(const ComputeUnit& compute) const;

  // Whether the unit may have its own submitting thread, whose calls do not wait for the compute
  // units of the device. False if units of one device share a queue.
  virtual bool may_have_own_thread() const { return true; }

  // kDone (this and every earlier ticket), kTimeout (still running) or kLost. Never blocks past the
  // deadline.
  virtual WaitResult wait(Ticket ticket, Deadline deadline) = 0;

  // Copies one whole page through host memory. The format is the same for every unit:
  // page_image_bytes(geometry) bytes [num_layers, 2 (k, v), kv_heads, page_tokens, head_dim] of
  // kv_dtype, then the scales, if the type has any: [num_layers, 2, kv_heads, page_tokens] f32.
  // Blocks until done; kLost as for wait().
  virtual WaitResult export_page(PageId page, std::span<std::byte> to, Deadline deadline) = 0;
  virtual WaitResult import_page(PageId page, std::span<const std::byte> from,
                                 Deadline deadline) = 0;

  // Health check of an idle device. Waits at most 0.1 s for the answer, besides the time of the
  // driver's call. False once the unit is lost; true while a device only gives no answer. A
  // DeviceError means a loss; any other Error means that the check itself failed.
  virtual bool is_alive() { return true; }

  virtual AttentionStats stats() const = 0;
};

std::size_t page_image_bytes(const AttentionGeometry& geometry);

// Throws Error("attention", ...) naming the field when a geometry or a batch is not what the
// contract says (num_pages: the number of pages of the unit). Every unit calls these first.
void check_geometry(const AttentionGeometry& geometry);
void check_batch(const AttentionGeometry& geometry, std::uint32_t num_pages,
                 const AttentionBatch& batch, const AttentionPartial& out);

// For units that store only some KV types, and units without windows and soft caps: throw
// Error(module, ...) for what the unit cannot do. Such units call these next.
void check_kv_dtype(const AttentionGeometry& geometry, std::span<const DType> stored,
                    const std::string& module);
void check_plain(const AttentionBatch& batch, const std::string& module);

}  // namespace tandem::device
