// SPDX-License-Identifier: Apache-2.0
//
// The operations of a ComputeUnit (compute_unit.h). An operation is a value: Op, at the end.
//
// A slice is a place in a buffer of the unit. It is f32 and row-major, and its comment gives the
// shape, unless the comment says otherwise. Weights belong to the unit. Ownership: an operation
// borrows everything that it names (compute_unit.h); copying an operation copies no list. How to
// add an operation: README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <variant>

#include "device/buffer.h"
#include "tensor/dtype.h"

namespace tandem::device {

class Weight;

// out[row] = table[ids[row]] * scale, dequantised.
struct EmbedOp {
  const Weight* table = nullptr;      // [vocab, width]
  std::span<const std::int32_t> ids;  // [rows]
  Slice out;                          // [rows, width]
  float scale = 1.0f;
};

// out[row] = (accumulate ? out[row] : 0) + x[row] / sqrt(mean(x[row]^2) + epsilon) * weight. out
// may be x.
struct RmsNormOp {
  std::int64_t rows = 0;
  Slice x, out;                    // [rows, width]
  const Weight* weight = nullptr;  // [1, width]
  float epsilon = 1e-5f;
  bool accumulate = false;
};

// The function before a gated feed-forward product: silu(x) = x / (1 + e^-x), or GELU in tanh form.
enum class Activation { kSilu, kGeluTanh };

// out = (accumulate ? out : 0) + f(x) W^T + bias, for every target. Projections that share an input
// go in one call. f is the RMS norm with weight `norm`, or activation(x) * up, or nothing, never
// both; it does not change x.
struct LinearTarget {
  const Weight* weight = nullptr;  // [out_features, in_features]
  const Weight* bias = nullptr;    // [1, out_features] or none
  Slice out;                       // [rows, out_features]
  bool accumulate = false;
};
struct LinearOp {
  std::int64_t rows = 0;
  Slice x;  // [rows, in_features]
  std::span<const LinearTarget> targets;
  const Weight* norm = nullptr;  // [1, in_features] or none
  float norm_epsilon = 1e-5f;
  Slice up;  // [rows, in_features] or none
  Activation activation = Activation::kSilu;
};

// Rotates the first 2 * inverse_frequencies.size() values of every head of every target in place,
// by position * inverse_frequencies[i]; `magnitude` multiplies cos and sin (YaRN).
// Pairs are (2i, 2i+1) when interleaved, else (i, i + n/2). A target with a norm has each of its
// heads RMS-normalised first.
struct RopeTarget {
  int heads = 0;
  Slice x;                       // [rows, heads, head_dim]
  const Weight* norm = nullptr;  // [1, head_dim] or none
};
struct RopeOp {
  std::int64_t rows = 0;
  int head_dim = 0;
  std::span<const RopeTarget> targets;
  float norm_epsilon = 1e-5f;
  std::span<const std::int32_t> positions;     // [rows]
  std::span<const float> inverse_frequencies;  // [rotated / 2]
  float magnitude = 1.0f;
  bool interleaved = true;
};

// x = cap * tanh(x / cap), in place.
struct SoftcapOp {
  std::int64_t rows = 0, width = 0;
  Slice x;  // [rows, width]
  float cap = 0;
};

// Causal attention inside each chunk: row i sees rows 0..i of its chunk, with a window only the
// last `window` of them. k and v are first rounded to kv_dtype, as pages store them, so that a
// token's KV is the same wherever it is attended.
struct CausalChunk {
  std::int32_t row_begin = 0;
  std::int32_t num_rows = 0;
};
struct CausalAttentionOp {
  std::span<const CausalChunk> chunks;
  int q_heads = 0, kv_heads = 0, head_dim = 0;
  float scale = 1.0f;
  DType kv_dtype = DType::kF16;  // kF32: no rounding; else as kv_has_scales() says
  Slice q, k, v;                 // [rows, q_heads | kv_heads | kv_heads, head_dim]
  Slice o, lse;       // [rows, q_heads, head_dim], [rows, q_heads]; other rows do not change
  float softcap = 0;  // as in AttentionBatch
  int window = 0;     // 0: none
};

// Merges partial attention results of the same queries: L = ln sum exp(L_i), O = sum exp(L_i - L)
// O_i. A partial has results for the rows it lists; a row that no partial lists becomes 0. Exact,
// and independent of the order of partials, up to rounding.
struct MergePartial {
  Slice o, lse;                        // [rows, heads, head_dim], [rows, heads]
  std::span<const std::int32_t> rows;  // the rows that the partial has results for
};
struct MergeOp {
  std::int64_t rows = 0;
  int heads = 0, head_dim = 0;
  std::span<const MergePartial> partials;
  Slice out;  // [rows, heads, head_dim]
};

// out[i] = x[rows[i]].
struct GatherRowsOp {
  std::span<const std::int32_t> rows;
  std::int64_t width = 0;
  Slice x, out;  // [*, width], [rows.size(), width]
};

// The feed-forward of a row by some of many experts: the `used` experts with the largest router
// logits (of equal ones the first). Each adds out += p * down(activation(gate x) * up x). p is the
// expert's probability by the softmax of all logits; if `normalise`, scaled so that the chosen ones
// sum to 1. Only weights of experts that some row chose are read.
struct Expert {
  const Weight *gate = nullptr, *up = nullptr;  // [ffn, width]
  const Weight* down = nullptr;                 // [width, ffn]
};
struct ExpertsOp {
  std::int64_t rows = 0;
  Slice x;       // [rows, width]
  Slice router;  // [rows, experts.size()]
  std::span<const Expert> experts;
  int used = 0;
  bool normalise = false;
  Activation activation = Activation::kSilu;
  Slice out;  // [rows, width]
};

// out[row] += x[row] / (1 + exp(-gate[row])).
struct GatedAddOp {
  std::int64_t rows = 0, width = 0;
  Slice x;     // [rows, width]
  Slice gate;  // [rows]
  Slice out;   // [rows, width]
};

// to[0, size_bytes) = from[0, size_bytes), between any buffers of the unit; they do not overlap.
struct CopyOp {
  std::size_t size_bytes = 0;
  Slice from, to;
};

// A ring of one slot passes rows to a host thread and receives its answer. The thread that enqueues
// takes no part. Every post is awaited before the next one. Posts and awaits are operations of the
// queue like others; those of equal steps are equal values. Optional: ComputeUnit::supports(). Both
// sides share RingWords, in a host buffer, zero before the first post. The host thread sees a
// change of `posted`, works, and stores the same words in `answered` (both with acquire and
// release). If it will not answer any more, it stores 1 in `abandoned`. Then no operation waits.
// The first await that sees it and all later operations copy nothing: results, and what is computed
// from them, are undefined, and the side that abandons must not use them.
struct RingWords {
  alignas(64) std::uint64_t posted;  // (number of posts so far, this one included) << 32 | tag
  alignas(64) std::uint64_t answered;
  std::uint64_t abandoned;
};
// The device's own count, in a device buffer; zero before the first post.
struct RingCount {
  std::uint32_t posted;
  std::uint32_t blocks, abandoned;  // used by the unit only
};
struct Ring {
  Slice words;  // RingWords
  Slice count;  // RingCount
};
constexpr std::size_t kMaxRingCopies = 6;

// Does the copies, then raises ring.words.posted for the host to see.
struct PostOp {
  std::span<const CopyOp> copies;  // up to kMaxRingCopies, to host buffers; whole floats
  Ring ring;
  std::uint32_t tag = 0;
};
// Waits for the answer to the last post, then does the copies.
struct AwaitOp {
  Ring ring;
  std::span<const CopyOp> copies;  // up to kMaxRingCopies, from host buffers; whole floats
};

// Chooses the next token of every row. At temperature 0 it is the token with the largest logit; if
// several are equal, the one with the lowest id. Otherwise top_k and then top_p remove tokens, and
// `uniform` selects one of the rest, in the order of model/sampler. Optional:
// ComputeUnit::supports(). It saves the copy of all logits to the host.
struct SampleRow {
  float temperature = 0;
  int top_k = 0;       // 0: off
  float top_p = 1.0f;  // 1: off
  float uniform = 0;   // in [0, 1)
};
struct SampleOp {
  std::span<const SampleRow> rows;
  std::int64_t vocab = 0;
  Slice logits;  // [rows, vocab]
  Slice out;     // [rows] int32, a host buffer
};

using Op = std::variant<EmbedOp, RmsNormOp, LinearOp, RopeOp, SoftcapOp, CausalAttentionOp, MergeOp,
                        GatherRowsOp, ExpertsOp, GatedAddOp, CopyOp, PostOp, AwaitOp, SampleOp>;

// The type of an operation as a value: the alternative of Op.
enum class OpKind : std::size_t {};
constexpr std::size_t kNumOpKinds = std::variant_size_v<Op>;

inline OpKind kind_of(const Op& op) { return OpKind{op.index()}; }

namespace detail {
template <typename Operation, std::size_t index = 0>
constexpr std::size_t index_of() {
  if constexpr (std::is_same_v<Operation, std::variant_alternative_t<index, Op>>) {
    return index;
  } else {
    return index_of<Operation, index + 1>();
  }
}
}  // namespace detail

template <typename Operation>
inline constexpr OpKind op_kind = OpKind{detail::index_of<Operation>()};

}  // namespace tandem::device
