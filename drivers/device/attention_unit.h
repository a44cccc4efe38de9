// SPDX-License-Identifier: Apache-2.0
//
// AttentionUnit: a place where KV pages live and decode attention runs (CPU, GPU, OpenCL device,
// FPGA card).
//
// Every unit answers a batch of queries with partial results (O, LSE) over the pages it holds;
// partials of several units merge exactly (see MergeOp in compute_ops.h), so a sequence may be
// split over units in any way. There is no mask: within one batch every query of a sequence sees
// the same tokens. A prefill chunk therefore attends here only to the tokens before the chunk; the
// causal part inside the chunk is the compute unit's, one more partial. Rows that see different
// ranges (a sliding window) are sequences of their own over the same pages.
// Ownership: the unit owns the memory of its pages, the caller decides which page belongs to whom:
// page ids are 0 .. num_pages-1, contents are undefined until appended. Spans of a batch are
// borrowed until wait() of its ticket has returned kDone or kLost. Order: batches of one unit take
// effect in submission order. Threads: one submitting thread per unit; capacity() and stats() from
// any thread. Failure: after kLost every page of the unit is lost, every ticket ends in kLost and
// every later submit() returns a ticket that is lost. Argument errors (a page out of range) throw
// Error before anything is enqueued. A batch that the device refused, alone, is an Error of wait()
// for its ticket, or for a later one where nobody was told: its results and the tokens that it was
// to append are undefined, and the unit goes on. Numerics: scores, softmax and accumulation in f32
// whatever the KV type; num_attend = 0 gives O = 0, LSE = -inf; NaN in K or Q yields NaN for that
// head only. To add a kind of unit: implement this class, name it in a Backend (registry.h), and
// the op cases of tests/drivers/device/attention_unit_test.cpp run on it.
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

// One f32 scale per token and head: kI8 max|x| / 127; kF8E4M3 the least power of two from 2^-126 to
// 2^119 that keeps |x| within 448 of it; larger values are taken as 448 * 2^119.
bool kv_has_scales(DType kv_dtype);

struct AttentionCapacity {
  std::uint32_t num_pages = 0;
  std::size_t page_bytes = 0;  // of all layers, K and V, as this unit stores it
  double read_bandwidth_bytes_per_s =
      0;  // of the memory the pages are in: measured, else the data sheet's
  double link_bandwidth_bytes_per_s = 0;  // host <-> unit; 0 where there is no link
  double link_latency_us = 0;             // of one submit + wait with nothing to do
};

// One sequence of a batch. "Held here" counts only the tokens in this unit's pages of the sequence.
struct AttentionSequence {
  std::int32_t q_begin = 0;    // first row of q (and of the result) of this sequence
  std::int32_t num_q = 0;      // rows of q; 0 appends only
  std::int32_t new_begin = 0;  // first row of k and v to append
  std::int32_t num_new = 0;    // rows to append; 0 attends only
  std::int32_t append_at = 0;  // index, among the tokens held here, of the first appended one
  // The queries see tokens [attend_begin, num_attend) of those held here, counted after the append.
  std::int32_t attend_begin = 0;  // other than 0 only where the device attends windows
  std::int32_t num_attend = 0;
  std::int32_t page_begin = 0;  // into pages
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

// Results stand at the row of their query; rows of no sequence in the batch are left alone.
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
  double busy_seconds = 0;  // submit to completion
};

using Ticket = std::uint64_t;  // increases by submission; 0 is never used

class ComputeUnit;

enum class WaitResult { kDone, kTimeout, kLost };

class AttentionUnit {
 public:
  virtual ~AttentionUnit() = default;

  virtual const AttentionGeometry& geometry() const = 0;
  virtual AttentionCapacity capacity() const = 0;

  // Enqueues append + attend. A unit in host memory may do the work inside wait().
  virtual Ticket submit(const AttentionBatch& batch, AttentionPartial out) = 0;

  // Whether the unit works in the queue of `compute`, as on one GPU: a batch comes after all that
  // was enqueued there before submit() and before all that is enqueued there later, with no wait in
  // between, and its rows and results may lie in device buffers of `compute`
  // (device_floats(slice)). Spans of sequences and pages are then copied by submit().
  virtual bool works_in_queue_of(const ComputeUnit& compute) const;

  // Whether the submitting thread may be another than that of the compute units beside it, and its
  // calls wait for nothing that those do; not so where units of one device share a queue.
  virtual bool may_have_own_thread() const { return true; }

  // kDone (this and every earlier ticket), kTimeout (still running) or kLost. Never blocks past the
  // deadline.
  virtual WaitResult wait(Ticket ticket, Deadline deadline) = 0;

  // Moves one whole page through host memory, whatever the unit's own layout:
  // page_image_bytes(geometry) bytes [num_layers, 2 (k, v), kv_heads, page_tokens, head_dim] of
  // kv_dtype, and where it has scales then those [num_layers, 2, kv_heads, page_tokens] f32. Blocks
  // until done; kLost as for wait().
  virtual WaitResult export_page(PageId page, std::span<std::byte> to, Deadline deadline) = 0;
  virtual WaitResult import_page(PageId page, std::span<const std::byte> from,
                                 Deadline deadline) = 0;

  // Asks a device that has nothing to do whether it is still there; waits for the answer for 0.1 s
  // at most (asking takes what its driver takes). False once the unit is lost; of a device that
  // only gives no answer it is true. A DeviceError of it is a loss; another Error may be thrown
  // where the question could not be put, and says nothing.
  virtual bool lives() { return true; }

  virtual AttentionStats stats() const = 0;
};

std::size_t page_image_bytes(const AttentionGeometry& geometry);

// Throws Error("attention", ...) naming the field when a geometry or a batch is not what the
// contract says (num_pages: the unit's). Every unit calls these first.
void check_geometry(const AttentionGeometry& geometry);
void check_batch(const AttentionGeometry& geometry, std::uint32_t num_pages,
                 const AttentionBatch& batch, const AttentionPartial& out);

// Of units that store only some KV types, and that attend neither windows nor soft caps: throw
// Error(module, ...) on what the unit does not do. They call them next.
void check_kv_dtype(const AttentionGeometry& geometry, std::span<const DType> stored,
                    const std::string& module);
void check_plain(const AttentionBatch& batch, const std::string& module);

}  // namespace tandem::device
