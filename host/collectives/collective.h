// SPDX-License-Identifier: Apache-2.0
//
// Collective calls on sparse and dense tensors: the public API of the library.
//
//   Group group(std::move(transport));  // of inproc, mpi, gloo or nccl: see host/transport
//   SparseTensor sum = sparse_allreduce(group, SparseView::of(indices, values, num_units));
//
// All ranks of a group make the same calls in the same order, with equal shapes, types and options.
// Each call begins with an exchange of headers (ceil(log2 n) steps). A mismatch, or an invalid
// argument on one rank, is therefore the same Error on every rank; it names rank and field. Results
// are sorted and unique. They have the same bits on every rank, and on every run with the same
// inputs, options and scheme. Ownership: inputs are borrowed until the call returns (asynchronous:
// until the handle is done). Calls in place write only after all data has arrived (broadcast: while
// it arrives). No call waits longer than its timeout.
// Errors: Error for arguments, or when memory for a rank's input is exhausted; the group stays
// usable. TransportError, or a later std::bad_alloc: the group is broken (group.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "collectives/frames/vocabulary.h"
#include "collectives/group.h"
#include "common/raw_vector.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace tandem::collectives {

class Aggregator;

enum class IndexType : std::uint8_t { kU32, kU64 };  // u32: up to 2^32 units

template <typename T>
constexpr DType dtype_of() {
  static_assert(
      std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::uint64_t>,
      "fill the view's fields for 16-bit types");
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  return std::is_same_v<T, double> ? DType::kF64 : DType::kU64;
}

// A borrowed sparse tensor: `num_units` units of `width` values (element-sparse: width 1;
// row-sparse: a unit is a row; block-sparse: a unit is a block). Indices may be unsorted and
// repeated (repeated ones are reduced in the order given). A rank may have no entries.
struct SparseView {
  std::uint64_t num_units = 0;
  std::uint32_t width = 1;
  DType type = DType::kF32;
  IndexType index_type = IndexType::kU32;
  std::size_t num_entries = 0;
  const void* indices = nullptr;  // [num_entries] of index_type, each below num_units
  const void* values = nullptr;   // [num_entries, width] of type
  // whether the caller states that indices are sorted and unique; this is checked
  bool sorted_unique = false;
  Placement placement;  // the memory of both arrays; calls refuse all but host memory

  // I: 4 or 8 bytes, unsigned. T: float, double, std::uint64_t. values: [indices.size(), width]
  template <typename I, typename T>
  static SparseView of(const std::vector<I>& indices, const std::vector<T>& values,
                       std::uint64_t num_units, std::uint32_t width = 1);
};

// An owned sparse tensor: sorted, unique.
struct SparseTensor {
  std::uint64_t num_units = 0;
  std::uint32_t width = 1;
  DType type = DType::kF32;
  IndexType index_type = IndexType::kU32;
  std::size_t num_entries = 0;
  RawVector<std::byte> indices;  // [num_entries] of index_type
  RawVector<std::byte> values;   // [num_entries, width] of type

  SparseView view() const;
  template <typename I>
  std::span<const I> indices_as() const {
    return {reinterpret_cast<const I*>(indices.data()), num_entries};
  }
  template <typename T>
  std::span<const T> values_as() const {
    return {reinterpret_cast<const T*>(values.data()), num_entries * width};
  }
};

// A borrowed dense tensor, in place.
struct DenseView {
  DType type = DType::kF32;
  std::size_t num_values = 0;
  void* values = nullptr;  // [num_values]
  Placement placement;     // the memory of the values; calls refuse all but host memory

  // T: float, double, std::uint64_t.
  template <typename T>
  static DenseView of(std::vector<T>& values) {
    return {dtype_of<T>(), values.size(), values.data(), {}};
  }
};

struct CallOptions {
  std::chrono::milliseconds timeout{60'000};  // of the call, including the wait for earlier calls
};

// Sums of f16 and bf16 are accumulated in f32; partial sums travel in f32; the result is rounded to
// the wire type once. Means are divided before that rounding. Sums of u64 wrap; their mean rounds
// down. NaN and infinity follow IEEE addition. Max is over the ranks that hold a unit; NaN wins. A
// unit whose values cancel to zero may or may not remain, depending on the scheme.
struct ReduceOptions : CallOptions {
  Reduction reduction = Reduction::kSum;
  std::string scheme = "auto";  // a name of scheme/registry.cpp, or auto: see selection/
  std::string codec = "auto";   // a name of codec/codec.h
  std::optional<DType> wire;    // f32, f16 or bf16 where sums are f32; default: the tensor's
  std::uint64_t seed = 0x7a9d;  // the seed of hashed partitions
  int ranks_per_node = 0;       // 0: the transport's node names decide
  // The selection and Ok-Topk's regions are stored under this name, separately for every shape,
  // type, wire type, reduction, codec and ranks_per_node. At most 4096 in all; the oldest are
  // removed first.
  std::string bucket = "default";
  Aggregator* aggregator = nullptr;  // null: the CPU; borrowed until the call is done
  bool explain = false;              // whether to fill Report::explanation
};

// Figures of a call on this rank, with the exchange of headers.
struct Report {
  std::string function;       // "sparse_allreduce"
  std::string scheme;         // the scheme of a reduction; empty for other functions
  double seconds = 0;         // time of the whole call
  double scheme_seconds = 0;  // time of the scheme alone, in a sparse all-reduce
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t steps = 0;
  double aggregation_modelled_seconds = 0;  // time by a card's own model; 0: there is no model
  std::uint64_t aggregator_fallbacks = 0;   // aggregations that the CPU did instead of a device
  // with `explain` and scheme auto: the ranking of schemes with their predicted times and those
  // measured so far
  std::string explanation;
};
Report last_report(const Group& group);  // the report of the last call that succeeded

// The reduced tensor, on every rank.
SparseTensor sparse_allreduce(Group& group, const SparseView& input,
                              const ReduceOptions& options = {});

// In place, for gradients stored densely. A unit of zeros only counts as absent, and is zero if no
// rank has it. Unchanged if the call fails.
void sparse_allreduce_dense(Group& group, DenseView tensor, std::uint32_t width = 1,
                            const ReduceOptions& options = {});

// Several tensors as one: one set of messages, with the index spaces concatenated. All have one
// type, width and index type. results[i] belongs to inputs[i].
std::vector<SparseTensor> sparse_allreduce_fused(Group& group, std::span<const SparseView> inputs,
                                                 const ReduceOptions& options = {});

// The part of the reduced tensor whose units are in the caller's even range [rank * ceil(N / n),
// (rank + 1) * ceil(N / n)); indices stay global. One direct exchange; `scheme` is not used.
SparseTensor sparse_reduce_scatter(Group& group, const SparseView& input,
                                   const ReduceOptions& options = {});

// For callers that own the output memory but do not know its size. Construct the plan
// (communicates), allocate num_entries(), then execute().
class SparseAllreducePlan {
 public:
  SparseAllreducePlan(Group& group, const SparseView& input, const ReduceOptions& options = {});
  std::size_t num_entries() const { return result_.num_entries; }
  // indices: [num_entries] of the input's index type; values: [num_entries, width] of its type.
  void execute(void* indices, void* values) const;

 private:
  SparseTensor result_;
};

// Returns the bytes of all ranks, in rank order, on every rank.
std::vector<RawVector<std::byte>> allgatherv(Group& group, std::span<const std::byte> own,
                                             const CallOptions& options = {});

// to[r] goes to rank r; result[r] came from rank r.
std::vector<RawVector<std::byte>> alltoallv(Group& group,
                                            std::span<const std::span<const std::byte>> to,
                                            const CallOptions& options = {});

// Dense all-reduce in place (scheme: dense_ring or dense_halving_doubling, auto by size; `codec` is
// ignored). Unchanged if the call fails.
void allreduce(Group& group, DenseView tensor, const ReduceOptions& options = {});

// Copies `bytes` of `root` to every rank; equal sizes.
void broadcast(Group& group, std::span<std::byte> bytes, int root, const CallOptions& options = {});

void barrier(Group& group, const CallOptions& options = {});

// A call in flight. Destroying it does not wait, and the buffers must stay valid until done().
// Copies are handles of the same call. Threads: any.
class Pending {
 public:
  bool done() const;
  // False if the deadline passes first (the call continues until its own timeout). Rethrows the
  // call's error.
  bool wait(Deadline deadline) const;
  // Aborts the call, and the group with it (as Group::abort). Does nothing if the call is done.
  void abort(const std::string& reason) const;

  class State;
  explicit Pending(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

// Asynchronous forms: queued on the group's thread, in order with all other calls of the group. The
// result beside the handle is filled when the call is done without error.
std::pair<std::shared_ptr<SparseTensor>, Pending> sparse_allreduce_async(
    Group& group, const SparseView& input, const ReduceOptions& options = {});
Pending sparse_allreduce_dense_async(Group& group, DenseView tensor, std::uint32_t width = 1,
                                     const ReduceOptions& options = {});
std::pair<std::shared_ptr<std::vector<SparseTensor>>, Pending> sparse_allreduce_fused_async(
    Group& group, std::span<const SparseView> inputs, const ReduceOptions& options = {});
std::pair<std::shared_ptr<SparseTensor>, Pending> sparse_reduce_scatter_async(
    Group& group, const SparseView& input, const ReduceOptions& options = {});
Pending allreduce_async(Group& group, DenseView tensor, const ReduceOptions& options = {});

template <typename I, typename T>
SparseView SparseView::of(const std::vector<I>& indices, const std::vector<T>& values,
                          std::uint64_t num_units, std::uint32_t width) {
  static_assert(std::is_unsigned_v<I> && (sizeof(I) == 4 || sizeof(I) == 8));
  if (values.size() != indices.size() * width) {
    throw Error("collectives", "a sparse tensor has `width` values for every index");
  }
  return {num_units,
          width,
          dtype_of<T>(),
          sizeof(I) == 4 ? IndexType::kU32 : IndexType::kU64,
          indices.size(),
          indices.data(),
          values.data(),
          false,
          {}};
}

}  // namespace tandem::collectives
