// SPDX-License-Identifier: Apache-2.0
//
// multiply_sparse_few() and multiply_sparse_many() for AVX-512 with and without BF16, AVX2, NEON
// and scalar, chosen at run time.
//
// Few: a step takes several outputs of a row through the input, a block of 256 at a time, and
// fetches the outputs of the next steps meanwhile. Many: every panel of 32 rows meets the
// values of a block of all outputs of the call, while its part of the block stays in the cache.
#include "cpu/kernels/sparse_products/sparse_products.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#define HWY_WANT_AVX3_DL  // before every header of Highway
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/sparse_products/sparse_products.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/float_products/bf16_products.h"
#include "cpu/kernels/float_products/matmul.h"
#include "cpu/kernels/sparse_products/sparse_steps-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr int kStepOutputs = 4;
constexpr std::size_t kAheadBytes = 4096;  // of the stream of weights
constexpr std::size_t kLineBytes = 64;
static_assert(kBf16Chunk % kSparseBlockInputs == 0);

HWY_INLINE void write(const SparseProduct& task, std::size_t row, std::size_t output, float value) {
  float& y = task.y[row * task.y_stride + output];
  if (task.bias != nullptr) value += task.bias[output];
  y = task.accumulate ? y + value : value;
}

// The rows of a call, in whole blocks.
template <typename Input>
struct BlockRows {
  const Input* x = nullptr;
  std::size_t row_stride = 0;    // between rows
  std::size_t chunk_stride = 0;  // between chunks of kBf16Chunk inputs
  const Input* at(std::size_t row, std::size_t input) const {
    return x + row * row_stride + input / kBf16Chunk * chunk_stride + input % kBf16Chunk;
  }
};

BlockRows<std::uint16_t> bf16_rows(const SparseProduct& task) {
  return {task.bf16_x, kBf16Chunk, task.x_stride * kBf16Chunk};
}

// f32 rows are used as they are if their blocks are whole, else copied. Those of bf16 are widened.
// Zeros fill the last block.
BlockRows<float> float_rows(const SparseProduct& task, std::vector<float>& workspace) {
  const std::size_t width = sparse_blocks(task.in_features) * kSparseBlockInputs;
  const bool is_bf16 = task.dtype == DType::kBF16;
  if (!is_bf16 && width == task.in_features) return {task.x, width, kBf16Chunk};
  workspace.resize(std::max(workspace.size(), task.rows * width));
  const BlockRows<std::uint16_t> of_bf16 = bf16_rows(task);
  for (std::size_t row = 0; row < task.rows; ++row) {
    float* to = workspace.data() + row * width;
    if (is_bf16) {
      for (std::size_t i = 0; i < width; i += kLanes) store(load_bf16(of_bf16.at(row, i)), to + i);
    } else {
      std::copy_n(task.x + row * task.in_features, task.in_features, to);
    }
    std::fill(to + task.in_features, to + width, 0.0f);
  }
  return {workspace.data(), width, kBf16Chunk};
}

template <typename Add, int kO>
void multiply_step(const SparseProduct& task, const BlockRows<typename Add::Input>& rows,
                   std::size_t output, std::size_t row) {
  using Stored = typename Add::Stored;
  const std::size_t blocks = sparse_blocks(task.in_features);
  SparseRow weights[kO];
  std::size_t begins[kO] = {};
  Vec sums[kO];
  for (int o = 0; o < kO; ++o) {
    weights[o] = SparseRow(task.weights + task.starts[output + o], blocks);
    sums[o] = hn::Zero(kF);
  }
  const std::byte* ahead = task.weights + task.starts[output] + kAheadBytes;
  const std::size_t block_bytes =
      (task.starts[output + kO] - task.starts[output] + blocks - 1) / blocks;
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t byte = 0; byte < block_bytes; byte += kLineBytes) {
      __builtin_prefetch(ahead + byte, 0, 3);
    }
    ahead += block_bytes;
    const Add inputs(rows.at(row, block * kSparseBlockInputs));
#pragma GCC unroll 8
    for (int o = 0; o < kO; ++o) {
      const auto* values = reinterpret_cast<const Stored*>(weights[o].values);
      const std::size_t end = weights[o].ends[block];
      for (std::size_t i = begins[o]; i < end; i += Add::kStep) {
        const typename Add::Step step(weights[o].places + i, values + i, end - i);
        inputs.add(step, sums[o]);
      }
      begins[o] = end;
    }
  }
#pragma GCC unroll 8
  for (int o = 0; o < kO; ++o) write(task, row, output + o, sum_of_lanes(sums[o]));
}

// One step of several rows: values and places are read once. Adds as multiply_step() does.
template <typename Add, int kR>
void multiply_rows_step(const SparseProduct& task, const BlockRows<typename Add::Input>& rows,
                        std::size_t output, std::size_t row) {
  using Stored = typename Add::Stored;
  const std::size_t blocks = sparse_blocks(task.in_features);
  const std::byte* const packed = task.weights + task.starts[output];
  const std::size_t bytes = task.starts[output + 1] - task.starts[output];
  for (std::size_t byte = 0; byte < bytes; byte += kLineBytes) {
    __builtin_prefetch(packed + kAheadBytes + byte, 0, 3);
  }
  const SparseRow weights(packed, blocks);
  const auto* values = reinterpret_cast<const Stored*>(weights.values);
  Vec sums[kR];
  for (int r = 0; r < kR; ++r) sums[r] = hn::Zero(kF);
  std::size_t begin = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const typename Add::Input* x[kR];
    for (std::size_t r = 0; r < kR; ++r) x[r] = rows.at(row + r, block * kSparseBlockInputs);
    const std::size_t end = weights.ends[block];
    for (std::size_t i = begin; i < end; i += Add::kStep) {
      const typename Add::Step step(weights.places + i, values + i, end - i);
#pragma GCC unroll 8
      for (int r = 0; r < kR; ++r) Add::add_row(x[r], step, sums[r]);
    }
    begin = end;
  }
  for (std::size_t r = 0; r < kR; ++r) write(task, row + r, output, sum_of_lanes(sums[r]));
}

constexpr int kStepRows = 4;

template <typename Add>
void multiply_few(const SparseProduct& task, const BlockRows<typename Add::Input>& rows) {
  std::size_t row = 0;
  for (; row + kStepRows <= task.rows; row += kStepRows) {
    for (std::size_t output = 0; output < task.outputs; ++output) {
      multiply_rows_step<Add, kStepRows>(task, rows, output, row);
    }
  }
  for (; row + 2 <= task.rows; row += 2) {
    for (std::size_t output = 0; output < task.outputs; ++output) {
      multiply_rows_step<Add, 2>(task, rows, output, row);
    }
  }
  if (row == task.rows) return;
  std::size_t output = 0;
  for (; output + kStepOutputs <= task.outputs; output += kStepOutputs) {
    multiply_step<Add, kStepOutputs>(task, rows, output, row);
  }
  for (; output < task.outputs; ++output) multiply_step<Add, 1>(task, rows, output, row);
}

// Many rows.

// Values are taken kChain at a time, and at the end kTailChain: those behind the last are zeros,
// their places any of inputs that exist.
constexpr std::size_t kChain = 8, kTailChain = 4;

template <int kColumns>
constexpr int kColumnVectors = kColumns / static_cast<int>(kLanes);
// kSums of a column are added in turns, as many for every kColumns: bits must not depend on it.
constexpr int kSums = kLanes >= 16 ? 4 : kLanes == 8 ? 2 : 1;

// kCount values times rows of `x`, [kSparseBlockInputs, kPanelRows].
template <typename Type, std::size_t kCount, int kColumns>
HWY_INLINE void add_chain(const std::uint8_t* places, const typename Type::Listed* values,
                          const float* x, Vec (&acc)[kSums][kColumnVectors<kColumns>]) {
#pragma GCC unroll 8
  for (std::size_t c = 0; c < kCount; c += 2) {
    Vec weights[2];
    Type::spread(values + c, weights);
    for (std::size_t i = 0; i < 2; ++i) {
      const float* const row = x + places[c + i] * kPanelRows;
      Vec* const to = acc[(c + i) % static_cast<std::size_t>(kSums)];
      for (int v = 0; v < kColumnVectors<kColumns>; ++v) {
        to[v] = hn::MulAdd(weights[i], load(row + v * kLanes), to[v]);
      }
    }
  }
}

// sums [kColumns] += the values times rows of `x`.
template <typename Type, int kColumns>
HWY_INLINE void add_list(const std::uint8_t* places, const typename Type::Listed* values,
                         std::size_t count, const float* x, float* sums) {
  constexpr int kV = kColumnVectors<kColumns>;
  Vec acc[kSums][kV];
  for (int v = 0; v < kV; ++v) {
    acc[0][v] = load(sums + v * kLanes);
    for (int c = 1; c < kSums; ++c) acc[c][v] = hn::Zero(kF);
  }
  std::size_t i = 0;
  for (; i + kChain <= count; i += kChain) {
    add_chain<Type, kChain, kColumns>(places + i, values + i, x, acc);
  }
  if (i < count) {
    const hn::CappedTag<typename Type::Listed, kChain> tag;
    typename Type::Listed rest[kChain];
    for (std::size_t at = 0; at < kChain; at += hn::Lanes(tag)) {
      const std::size_t left = count - i > at ? count - i - at : 0;
      const auto in_list = hn::FirstN(tag, std::min(left, hn::Lanes(tag)));
      hn::StoreU(hn::IfThenElseZero(in_list, hn::LoadU(tag, values + i + at)), tag, rest + at);
    }
    add_chain<Type, kTailChain, kColumns>(places + i, rest, x, acc);
    if (i + kTailChain < count) {
      add_chain<Type, kTailChain, kColumns>(places + i + kTailChain, rest + kTailChain, x, acc);
    }
  }
  for (int v = 0; v < kV; ++v) {
    Vec sum = acc[0][v];
    for (int c = 1; c < kSums; ++c) sum = hn::Add(sum, acc[c][v]);
    store(sum, sums + v * kLanes);
  }
}

// The sums of a call: [panels, outputs, kPanelRows], zeros at first.
template <typename Type>
void add_block(const SparseProduct& task, const SparseRow* weights, std::size_t block,
               float* sums) {
  using Stored = typename Type::Stored;
  const std::size_t panels = (task.rows + kPanelRows - 1) / kPanelRows;
  [[maybe_unused]] float widened[kSparseBlockInputs + 2 * kLanes];
  for (std::size_t panel = 0; panel < panels; ++panel) {
    const float* x = task.x + (panel * task.in_features + block * kSparseBlockInputs) * kPanelRows;
    const bool is_half = task.rows - panel * kPanelRows <= kPanelRows / 2;
    const auto add = is_half ? add_list<Type, kPanelRows / 2> : add_list<Type, kPanelRows>;
    float* to = sums + panel * task.outputs * kPanelRows;
    for (std::size_t o = 0; o < task.outputs; ++o, to += kPanelRows) {
      const std::size_t begin = weights[o].begin(block), count = weights[o].ends[block] - begin;
      const auto* values = reinterpret_cast<const Stored*>(weights[o].values) + begin;
      if constexpr (std::is_same_v<Stored, typename Type::Listed>) {
        add(weights[o].places + begin, values, count, x, to);
      } else {
        for (std::size_t i = 0; i < count; i += kLanes) store(Type::widen(values + i), widened + i);
        add(weights[o].places + begin, widened, count, x, to);
      }
    }
  }
}

// Vectors that lie across two cache lines take twice the time.
float* first_of_line(float* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return at + (kLineBytes - address % kLineBytes) % kLineBytes / sizeof(float);
}

template <typename Type>
void multiply_many(const SparseProduct& task, std::vector<float>& workspace) {
  const std::size_t panels = (task.rows + kPanelRows - 1) / kPanelRows;
  const std::size_t blocks = sparse_blocks(task.in_features);
  const std::size_t num_sums = task.outputs * panels * kPanelRows;
  workspace.resize(std::max(workspace.size(), num_sums + kLineBytes / sizeof(float)));
  float* sums = first_of_line(workspace.data());
  std::fill_n(sums, num_sums, 0.0f);
  std::vector<SparseRow> weights;
  for (std::size_t o = 0; o < task.outputs; ++o) {
    for (std::size_t at = task.starts[o]; at < task.starts[o + 1]; at += kLineBytes) {
      __builtin_prefetch(task.weights + at, 0, 2);
    }
  }
  for (std::size_t o = 0; o < task.outputs; ++o) {
    weights.emplace_back(task.weights + task.starts[o], blocks);
  }
  for (std::size_t block = 0; block < blocks; ++block) {
    add_block<Type>(task, weights.data(), block, sums);
  }
  for (std::size_t row = 0; row < task.rows; ++row) {
    const float* from = sums + row / kPanelRows * task.outputs * kPanelRows + row % kPanelRows;
    for (std::size_t o = 0; o < task.outputs; ++o) write(task, row, o, from[o * kPanelRows]);
  }
}

}  // namespace

void sparse_few(const SparseProduct& task, std::vector<float>& workspace) {
#if HWY_TARGET <= HWY_AVX3_DL
  if (task.dtype == DType::kBF16 && has_sparse_pairs()) {
    return multiply_few<AddPairs>(task, bf16_rows(task));
  }
#endif
  const BlockRows<float> rows = float_rows(task, workspace);
  if (task.dtype == DType::kF32) return multiply_few<AddFloats<SparseF32>>(task, rows);
  if (task.dtype == DType::kF16) return multiply_few<AddFloats<SparseF16>>(task, rows);
  multiply_few<AddFloats<SparseBf16>>(task, rows);
}

void sparse_many(const SparseProduct& task, std::vector<float>& workspace) {
  if (task.dtype == DType::kF32) return multiply_many<SparseF32>(task, workspace);
  if (task.dtype == DType::kF16) return multiply_many<SparseF16>(task, workspace);
  multiply_many<SparseBf16>(task, workspace);
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::device::cpu {
HWY_EXPORT(sparse_few);
HWY_EXPORT(sparse_many);

void multiply_sparse_few(const SparseProduct& product, std::vector<float>& workspace) {
  HWY_DYNAMIC_DISPATCH(sparse_few)(product, workspace);
}

void multiply_sparse_many(const SparseProduct& product, std::vector<float>& workspace) {
  HWY_DYNAMIC_DISPATCH(sparse_many)(product, workspace);
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
