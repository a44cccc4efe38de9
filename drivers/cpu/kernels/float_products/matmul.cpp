// SPDX-License-Identifier: Apache-2.0
//
// multiply_many_rows() for AVX-512, AVX2, NEON and scalar, chosen at run time.
//
// Loop order: chunk of inputs, convert the weights of the task; panel of rows; group of outputs.
// Per chunk a packed panel (32 KiB) and a group of converted weights (12 KiB) stay in the first
// cache; the task's result, kept by output so that rows are the vector lanes, stays in the second
// and is transposed once at the end.
#include "cpu/kernels/float_products/matmul.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/float_products/matmul.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/float_products/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kChunk = 256;  // inputs per pass, a multiple of kBlock
constexpr std::size_t kGroup = kRegisters == 32 ? 12 : 6;
constexpr std::size_t kWide = 2;  // vectors of rows per register tile
constexpr std::size_t kTileRows = kWide * kLanes;
static_assert(kTaskOutputs % kGroup == 0 && kPanelRows % kTileRows == 0);

// One weight row's chunk as f32, zero-padded to a multiple of kBlock.
template <typename Reader>
void convert_row(const std::byte* row, std::size_t begin, std::size_t count, float* to) {
  const std::byte* block = row + begin / kBlock * Reader::kBlockBytes;
  std::size_t done = 0;
  for (; done + kBlock <= count; done += kBlock, block += Reader::kBlockBytes) {
    for (std::size_t i = 0; i < kBlock; i += kLanes) store(Reader::load(block, i), to + done + i);
  }
  if (done == count) return;
  std::byte padded[Reader::kBlockBytes] = {};
  std::memcpy(padded, block, (count - done) * (Reader::kBlockBytes / kBlock));
  for (std::size_t i = 0; i < kBlock; i += kLanes) store(Reader::load(padded, i), to + done + i);
}

void convert(const ManyRows& task, std::size_t output, std::size_t begin, std::size_t count,
             float* to) {
  const std::byte* row = task.weights + output * task.row_bytes;
  switch (task.dtype) {
    case DType::kF16:
      return convert_row<ReadF16>(row, begin, count, to);
    default:
      return convert_row<ReadF32>(row, begin, count, to);
  }
}

// c[o][0..kTileRows) += sum over the chunk of w[o][i] * x[i][..].
HWY_INLINE void multiply_tile(const float* w, const float* x, std::size_t count, float* c) {
  Vec acc[kGroup][kWide];
  for (std::size_t o = 0; o < kGroup; ++o) {
    for (std::size_t v = 0; v < kWide; ++v) acc[o][v] = load(c + o * kPanelRows + v * kLanes);
  }
  for (std::size_t i = 0; i < count; ++i, x += kPanelRows) {
    Vec rows[kWide];
    for (std::size_t v = 0; v < kWide; ++v) rows[v] = load(x + v * kLanes);
    for (std::size_t o = 0; o < kGroup; ++o) {
      const Vec weight = broadcast(w[o * kChunk + i]);
      for (std::size_t v = 0; v < kWide; ++v) acc[o][v] = hn::MulAdd(weight, rows[v], acc[o][v]);
    }
  }
  for (std::size_t o = 0; o < kGroup; ++o) {
    for (std::size_t v = 0; v < kWide; ++v) store(acc[o][v], c + o * kPanelRows + v * kLanes);
  }
}

// c: [panels, kTaskOutputs, 32].
void write_result(const ManyRows& task, std::size_t outputs, const float* c) {
  for (std::size_t row = 0; row < task.rows; ++row) {
    const float* from = c + row / kPanelRows * kTaskOutputs * kPanelRows + row % kPanelRows;
    float* y = task.y + row * task.y_stride;
    for (std::size_t o = 0; o < outputs; ++o) {
      float value = from[o * kPanelRows];
      if (task.bias != nullptr) value += task.bias[o];
      y[o] = task.accumulate ? y[o] + value : value;
    }
  }
}

}  // namespace

void many_rows(const ManyRows& task, std::size_t outputs, std::vector<float>& workspace) {
  const std::size_t panels = (task.rows + kPanelRows - 1) / kPanelRows;
  const std::size_t groups = (outputs + kGroup - 1) / kGroup;
  workspace.assign(kTaskOutputs * kChunk + panels * kTaskOutputs * kPanelRows, 0.0f);
  float* w = workspace.data();
  float* c = w + kTaskOutputs * kChunk;
  for (std::size_t begin = 0; begin < task.in_features; begin += kChunk) {
    const std::size_t count = std::min(kChunk, task.in_features - begin);
    for (std::size_t o = 0; o < outputs; ++o) convert(task, o, begin, count, w + o * kChunk);
    for (std::size_t panel = 0; panel < panels; ++panel) {
      const float* x = task.packed + (panel * task.in_features + begin) * kPanelRows;
      const std::size_t rows = std::min(kPanelRows, task.rows - panel * kPanelRows);
      for (std::size_t group = 0; group < groups; ++group) {
        float* tile = c + (panel * kTaskOutputs + group * kGroup) * kPanelRows;
        for (std::size_t row = 0; row < rows; row += kTileRows) {
          multiply_tile(w + group * kGroup * kChunk, x + row, count, tile + row);
        }
      }
    }
  }
  write_result(task, outputs, c);
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::device::cpu {
HWY_EXPORT(many_rows);

void multiply_many_rows(const ManyRows& task, std::size_t outputs, std::vector<float>& workspace) {
  HWY_DYNAMIC_DISPATCH(many_rows)(task, outputs, workspace);
}

void pack_panel(const float* x, std::size_t rows, std::size_t in_features, std::size_t panel,
                float* packed) {
  const std::size_t begin = panel * kPanelRows;
  const std::size_t held = std::min(kPanelRows, rows - begin);
  if (held < kPanelRows) std::fill_n(packed, in_features * kPanelRows, 0.0f);
  constexpr std::size_t kStrip = 16;  // one cache line of each row at a time
  for (std::size_t from = 0; from < in_features; from += kStrip) {
    const std::size_t to = std::min(from + kStrip, in_features);
    for (std::size_t row = 0; row < held; ++row) {
      const float* source = x + (begin + row) * in_features;
      for (std::size_t i = from; i < to; ++i) packed[i * kPanelRows + row] = source[i];
    }
  }
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
