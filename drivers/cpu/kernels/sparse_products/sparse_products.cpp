// SPDX-License-Identifier: Apache-2.0
//
// multiply_sparse_few() and multiply_sparse_many() for AVX-512 with and without BF16, AVX2, NEON
// and scalar, chosen at run time.
//
// Few: a step takes several outputs and up to 4 rows through the input, a word of bits at a time,
// and fetches the outputs of the next step meanwhile. Many: bits become lists of places and values
// for a chunk of inputs and all outputs of the call; then every panel of 32 rows meets the lists,
// while its part of the chunk stays in the cache.
#include "cpu/kernels/sparse_products/sparse_products.h"

#include <algorithm>
#include <bit>
#include <cstring>

#define HWY_WANT_AVX3_DL  // before every header of Highway
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/sparse_products/sparse_products.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/float_products/bf16_products.h"
#include "cpu/kernels/float_products/matmul.h"
#include "cpu/kernels/sparse_products/expand-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr int kStepOutputs = 4;
constexpr int kStepRows = 4;
constexpr std::size_t kAheadBytes = 4096;  // of the stream of weights
constexpr std::size_t kLineBytes = 64;

// Types of weights: kLanes stored values as f32, and of bf16 also its rows.
struct SparseF32 {
  using Stored = float;
  using Input = float;
  static HWY_INLINE Vec widen(const float* from) { return load(from); }
  static HWY_INLINE Vec input(const float* from) { return load(from); }
};

struct SparseF16 {
  using Stored = std::uint16_t;
  using Input = float;
  static HWY_INLINE Vec widen(const std::uint16_t* from) { return load_f16(from); }
  static HWY_INLINE Vec input(const float* from) { return load(from); }
};

struct SparseBf16 {
  using Stored = std::uint16_t;
  using Input = std::uint16_t;
  static HWY_INLINE Vec widen(const std::uint16_t* from) { return load_bf16(from); }
  static HWY_INLINE Vec input(const std::uint16_t* from) { return load_bf16(from); }
};

// Adds the products of a word's 64 inputs with kR rows, and moves `values` past the word's.
template <typename Type>
struct AddWidened : Type {
  using Stored = typename Type::Stored;
  using Input = typename Type::Input;
  template <int kR>
  static HWY_INLINE void add(const std::byte* mask, const Stored*& values,
                             const Input* const (&x)[kR], Vec (&sums)[kR]) {
    std::uint64_t word;
    std::memcpy(&word, mask, sizeof word);
    for (std::size_t i = 0; i < kSparseWordInputs; i += kLanes) {
      const std::uint64_t bits = word & kLaneBits;
      const Vec w = expand(Type::widen(values), bits);
      values += std::popcount(bits);
      word >>= kLanes;
      for (int r = 0; r < kR; ++r) sums[r] = hn::MulAdd(w, Type::input(x[r] + i), sums[r]);
    }
  }
};

#if HWY_TARGET <= HWY_AVX3_DL
// Where vectors count bits, a lane finds its value by the number of bits below its own. Counting
// and a permutation take half the time of the instruction that expands (Zen 5).
struct LaneBits {
  alignas(
      64) std::uint32_t below[2][16];     // of the lanes of f32: of the low and high half of a word
  alignas(64) std::uint16_t below16[32];  // of the lanes of 16 bits: in their half
  // Bytes of 32 bits: the lane's half; and of the upper lanes, the low half.
  alignas(64) std::uint8_t own[64];
  alignas(64) std::uint8_t low[64];
};

constexpr LaneBits make_lane_bits() {
  LaneBits bits{};
  for (unsigned lane = 0; lane < 16; ++lane) {
    bits.below[0][lane] = (1u << lane) - 1;
    bits.below[1][lane] = bits.below[0][lane] << 16;
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    const bool is_upper = lane >= 16;
    bits.below16[lane] = static_cast<std::uint16_t>((1u << lane % 16) - 1);
    for (unsigned byte = 0; byte < 2; ++byte) {
      bits.own[lane * 2 + byte] = static_cast<std::uint8_t>(byte + (is_upper ? 2 : 0));
      bits.low[lane * 2 + byte] = static_cast<std::uint8_t>(is_upper ? byte : 0x80);
    }
  }
  return bits;
}

inline constexpr LaneBits kLaneBitsOf = make_lane_bits();

HWY_INLINE std::uint32_t mask_at(const std::byte* from) {
  std::uint32_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

// In every lane. As a float it comes from memory, which is cheaper than from a register.
HWY_INLINE __m512i broadcast_mask(const std::byte* from) {
  float bits;
  std::memcpy(&bits, from, sizeof bits);
  return _mm512_castps_si512(_mm512_set1_ps(bits));
}

template <typename Type>
struct AddCounted : Type {
  using Stored = typename Type::Stored;
  using Input = typename Type::Input;
  template <int kR>
  static HWY_INLINE void add(const std::byte* mask, const Stored*& values,
                             const Input* const (&x)[kR], Vec (&sums)[kR]) {
    for (std::size_t i = 0; i < kSparseWordInputs; i += 2 * kLanes) {
      const std::uint32_t bits = mask_at(mask + i / 8);
      const __m512i all = broadcast_mask(mask + i / 8);
      for (int half = 0; half < 2; ++half) {
        const auto mine = static_cast<__mmask16>(bits >> 16 * half);
        const __m512i below = _mm512_load_si512(kLaneBitsOf.below[half]);
        const __m512i lanes = _mm512_popcnt_epi32(_mm512_and_si512(all, below));
        const Vec w{_mm512_maskz_permutexvar_ps(mine, lanes, Type::widen(values).raw)};
        values += std::popcount(mine);
        for (int r = 0; r < kR; ++r) {
          sums[r] = hn::MulAdd(w, Type::input(x[r] + i + half * kLanes), sums[r]);
        }
      }
    }
  }
};

// 32 values of 16 bits at once. The dot product of pairs is written as assembly, because not every
// Highway has a target with it.
struct AddPairs {
  using Stored = std::uint16_t;
  using Input = std::uint16_t;
  template <int kR>
  static HWY_INLINE void add(const std::byte* mask, const Stored*& values,
                             const Input* const (&x)[kR], Vec (&sums)[kR]) {
    for (std::size_t i = 0; i < kSparseWordInputs; i += 32) {
      const std::uint32_t bits = mask_at(mask + i / 8);
      const __m512i all = broadcast_mask(mask + i / 8);
      const __m512i own = _mm512_shuffle_epi8(all, _mm512_load_si512(kLaneBitsOf.own));
      const __m512i low = _mm512_shuffle_epi8(all, _mm512_load_si512(kLaneBitsOf.low));
      const __m512i below = _mm512_and_si512(own, _mm512_load_si512(kLaneBitsOf.below16));
      const __m512i lanes = _mm512_add_epi16(_mm512_popcnt_epi16(below), _mm512_popcnt_epi16(low));
      const __m512i w = _mm512_maskz_permutexvar_epi16(bits, lanes, _mm512_loadu_si512(values));
      values += std::popcount(bits);
      for (int r = 0; r < kR; ++r) {
        const __m512i pairs = _mm512_loadu_si512(x[r] + i);
        asm("vdpbf16ps %2, %1, %0" : "+v"(sums[r].raw) : "v"(w), "v"(pairs));
      }
    }
  }
};

template <typename Type>
using AddFloats = AddCounted<Type>;

bool has_sparse_pairs() {
  static const bool has = __builtin_cpu_supports("avx512bf16");
  return has;
}
#else
template <typename Type>
using AddFloats = AddWidened<Type>;
#endif

HWY_INLINE void write(const SparseProduct& task, std::size_t row, std::size_t output, float value) {
  float& y = task.y[row * task.y_stride + output];
  if (task.bias != nullptr) value += task.bias[output];
  y = task.accumulate ? y + value : value;
}

// Where chunk `at` of a row of the activations begins, and how many inputs a chunk has.
template <typename Input>
const Input* chunk_of(const SparseProduct& task, std::size_t at, std::size_t row) {
  if constexpr (sizeof(Input) == sizeof(float)) {
    return task.x + row * task.in_features;
  } else {
    return task.bf16_x + at * task.x_stride + row * kBf16Chunk;
  }
}

template <typename Input>
std::size_t chunk_inputs(const SparseProduct& task) {
  return sizeof(Input) == sizeof(float) ? task.in_features : kBf16Chunk;
}

template <typename Add, int kO, int kR>
void multiply_step(const SparseProduct& task, std::size_t output, std::size_t row) {
  using Stored = typename Add::Stored;
  using Input = typename Add::Input;
  const std::size_t words = task.in_features / kSparseWordInputs;
  const std::byte* masks[kO];
  const Stored* values[kO];
  Vec sums[kO][kR];
  for (int o = 0; o < kO; ++o) {
    masks[o] = task.weights + task.starts[output + o];
    values[o] = reinterpret_cast<const Stored*>(masks[o] + words * 8);
    for (Vec& sum : sums[o]) sum = hn::Zero(kF);
  }
  const std::byte* ahead = masks[0] + kAheadBytes;
  const std::size_t step_bytes =
      (task.starts[output + kO] - task.starts[output] + words - 1) / words;
  const std::size_t chunk = chunk_inputs<Input>(task);
  for (std::size_t begin = 0; begin < task.in_features; begin += chunk) {
    const Input* x[kR];
    for (int r = 0; r < kR; ++r) x[r] = chunk_of<Input>(task, begin, row + r);
    const std::size_t end = std::min(begin + chunk, task.in_features);
    for (std::size_t at = begin; at < end; at += kSparseWordInputs) {
      for (std::size_t byte = 0; byte < step_bytes; byte += kLineBytes) {
        __builtin_prefetch(ahead + byte, 0, 3);
      }
      ahead += step_bytes;
      for (int o = 0; o < kO; ++o) {
        Add::template add<kR>(masks[o] + at / 8, values[o], x, sums[o]);
      }
      for (int r = 0; r < kR; ++r) x[r] += kSparseWordInputs;
    }
  }
  for (int o = 0; o < kO; ++o) {
    for (int r = 0; r < kR; ++r) write(task, row + r, output + o, sum_of_lanes(sums[o][r]));
  }
}

template <typename Add, int kO>
void multiply_outputs(const SparseProduct& task, std::size_t output) {
  std::size_t row = 0;
  for (; row + kStepRows <= task.rows; row += kStepRows) {
    multiply_step<Add, kO, kStepRows>(task, output, row);
  }
  switch (task.rows - row) {
    case 3:
      return multiply_step<Add, kO, 3>(task, output, row);
    case 2:
      return multiply_step<Add, kO, 2>(task, output, row);
    case 1:
      return multiply_step<Add, kO, 1>(task, output, row);
    default:
      return;
  }
}

template <typename Add>
void multiply_few(const SparseProduct& task) {
  std::size_t output = 0;
  for (; output + kStepOutputs <= task.outputs; output += kStepOutputs) {
    multiply_outputs<Add, kStepOutputs>(task, output);
  }
  for (; output < task.outputs; ++output) multiply_outputs<Add, 1>(task, output);
}

// Many rows.

constexpr std::size_t kListInputs = 512;  // the rows' part of a panel: 64 KiB
constexpr std::size_t kListSlack = 16;

// The lists of a call: where the values of each output end, their places and the values.
struct Lists {
  std::size_t* ends = nullptr;      // [outputs]
  std::uint32_t* places = nullptr;  // inputs, counted from the chunk's first
  float* values = nullptr;
};

template <typename Type>
void fill_lists(const SparseProduct& task, std::size_t begin, std::size_t end,
                const typename Type::Stored** next, const Lists& lists) {
  std::size_t filled = 0;
  for (std::size_t output = 0; output < task.outputs; ++output) {
    const std::size_t first = filled;
    const std::byte* masks = task.weights + task.starts[output];
    for (std::size_t at = begin; at < end; at += kSparseWordInputs) {
      std::uint64_t word;
      std::memcpy(&word, masks + at / 8, sizeof word);
      filled += write_places(word, static_cast<std::uint32_t>(at - begin), lists.places + filled);
    }
    for (std::size_t i = first; i < filled; i += kLanes) {
      store(Type::widen(next[output] + (i - first)), lists.values + i);
    }
    next[output] += filled - first;
    lists.ends[output] = filled;
  }
}

// sums [kColumns] += the list's values times rows of `x`, [inputs, kPanelRows].
template <int kColumns>
HWY_INLINE void add_list(const std::uint32_t* places, const float* values, std::size_t count,
                         const float* x, float* sums) {
  constexpr int kV = kColumns / static_cast<int>(kLanes);
  constexpr int kChains = kV <= 2 ? 4 : kV <= 4 ? 2 : 1;
  Vec acc[kChains][kV];
  for (int v = 0; v < kV; ++v) acc[0][v] = load(sums + v * kLanes);
  for (int c = 1; c < kChains; ++c) {
    for (Vec& a : acc[c]) a = hn::Zero(kF);
  }
  std::size_t i = 0;
  for (; i + kChains <= count; i += kChains) {
    for (int c = 0; c < kChains; ++c) {
      const float* row = x + places[i + c] * kPanelRows;
      const Vec w = broadcast(values[i + c]);
      for (int v = 0; v < kV; ++v) acc[c][v] = hn::MulAdd(w, load(row + v * kLanes), acc[c][v]);
    }
  }
  for (; i < count; ++i) {
    const float* row = x + places[i] * kPanelRows;
    const Vec w = broadcast(values[i]);
    for (int v = 0; v < kV; ++v) acc[0][v] = hn::MulAdd(w, load(row + v * kLanes), acc[0][v]);
  }
  for (int v = 0; v < kV; ++v) {
    Vec sum = acc[0][v];
    for (int c = 1; c < kChains; ++c) sum = hn::Add(sum, acc[c][v]);
    store(sum, sums + v * kLanes);
  }
}

template <typename Type>
void multiply_many(const SparseProduct& task, std::vector<float>& workspace) {
  using Stored = typename Type::Stored;
  const std::size_t panels = (task.rows + kPanelRows - 1) / kPanelRows;
  const std::size_t num_sums = task.outputs * panels * kPanelRows;
  const std::size_t num_listed = task.outputs * kListInputs + kListSlack;
  workspace.resize(std::max(workspace.size(), num_sums + 2 * num_listed));
  std::vector<std::size_t> ends(task.outputs);
  std::vector<const Stored*> next(task.outputs);
  float* sums = workspace.data();  // [panels, outputs, kPanelRows]
  std::fill_n(sums, num_sums, 0.0f);
  const Lists lists{ends.data(), reinterpret_cast<std::uint32_t*>(sums + num_sums),
                    sums + num_sums + num_listed};
  for (std::size_t o = 0; o < task.outputs; ++o) {
    next[o] = reinterpret_cast<const Stored*>(task.weights + task.starts[o] + task.in_features / 8);
  }
  for (std::size_t begin = 0; begin < task.in_features; begin += kListInputs) {
    fill_lists<Type>(task, begin, std::min(begin + kListInputs, task.in_features), next.data(),
                     lists);
    for (std::size_t panel = 0; panel < panels; ++panel) {
      const float* x = task.x + (panel * task.in_features + begin) * kPanelRows;
      const bool is_half = task.rows - panel * kPanelRows <= kPanelRows / 2;
      float* to = sums + panel * task.outputs * kPanelRows;
      for (std::size_t o = 0, first = 0; o < task.outputs; first = ends[o++], to += kPanelRows) {
        const auto add = is_half ? add_list<kPanelRows / 2> : add_list<kPanelRows>;
        add(lists.places + first, lists.values + first, ends[o] - first, x, to);
      }
    }
  }
  for (std::size_t row = 0; row < task.rows; ++row) {
    const float* from = sums + row / kPanelRows * task.outputs * kPanelRows + row % kPanelRows;
    for (std::size_t o = 0; o < task.outputs; ++o) write(task, row, o, from[o * kPanelRows]);
  }
}

}  // namespace

void sparse_few(const SparseProduct& task) {
  if (task.dtype == DType::kF32) return multiply_few<AddFloats<SparseF32>>(task);
  if (task.dtype == DType::kF16) return multiply_few<AddFloats<SparseF16>>(task);
#if HWY_TARGET <= HWY_AVX3_DL
  if (has_sparse_pairs()) return multiply_few<AddPairs>(task);
#endif
  multiply_few<AddFloats<SparseBf16>>(task);
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

void multiply_sparse_few(const SparseProduct& product) {
  HWY_DYNAMIC_DISPATCH(sparse_few)(product);
}

void multiply_sparse_many(const SparseProduct& product, std::vector<float>& workspace) {
  HWY_DYNAMIC_DISPATCH(sparse_many)(product, workspace);
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
