// SPDX-License-Identifier: Apache-2.0
//
// multiply_few_rows() for AVX-512, AVX2, NEON and scalar, chosen at run time.
//
// A step takes kOutputs weight rows and 1 to 4 activation rows through the input in blocks of 32
// values: weights are converted once per step, and the next weight rows are fetched meanwhile. An
// input that is no multiple of 32 ends in a block copied and padded with zeros.
#include "cpu/kernels/float_products/matvec.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/float_products/matvec.cpp"
#include "hwy/foreach_target.h"
//
#include "cpu/kernels/float_products/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr int kOutputs = 4;
constexpr int kMaxStepRows = 4;
constexpr std::size_t kNear = 1024;  // bytes

// Pointers of one step, at the current block.
template <int kO, int kR>
struct Step {
  const std::byte* w[kO];
  const float* x[kR];
};

template <typename Reader, int kO, int kR>
HWY_INLINE void add_block(const Step<kO, kR>& at, Vec (&acc)[kO][kR]) {
  for (int o = 0; o < kO; ++o) {
    for (std::size_t i = 0; i < kBlock; i += kLanes) {
      const Vec w = Reader::load(at.w[o], i);
      for (int r = 0; r < kR; ++r) acc[o][r] = hn::MulAdd(w, load(at.x[r] + i), acc[o][r]);
    }
  }
}

// The last in_features % 32 values, zero-padded.
template <typename Reader, int kO, int kR>
void add_tail(const FewRows& task, const Step<kO, kR>& at, Vec (&acc)[kO][kR]) {
  const std::size_t tail = task.in_features % kBlock;
  std::byte w[kO][Reader::kBlockBytes] = {};
  float x[kR][kBlock] = {};
  Step<kO, kR> padded;
  for (int o = 0; o < kO; ++o) {
    std::memcpy(w[o], at.w[o], tail * (Reader::kBlockBytes / kBlock));
    padded.w[o] = w[o];
  }
  for (int r = 0; r < kR; ++r) {
    std::memcpy(x[r], at.x[r], tail * sizeof(float));
    padded.x[r] = x[r];
  }
  add_block<Reader, kO, kR>(padded, acc);
}

HWY_INLINE void write(const FewRows& task, std::size_t row, std::size_t output, float value) {
  float& y = task.y[row * task.y_stride + output];
  if (task.bias != nullptr) value += task.bias[output];
  y = task.accumulate ? y + value : value;
}

template <typename Reader, int kO, int kR>
void multiply_step(const FewRows& task, std::size_t output, std::size_t row) {
  Step<kO, kR> at;
  Vec acc[kO][kR];
  for (int o = 0; o < kO; ++o) at.w[o] = task.weights + (output + o) * task.row_bytes;
  for (int r = 0; r < kR; ++r) at.x[r] = task.x + (row + r) * task.in_features;
  for (auto& of_output : acc) {
    for (Vec& sum : of_output) sum = hn::Zero(kF);
  }
  const std::size_t ahead = kO * task.row_bytes;
  for (std::size_t block = 0; block < task.in_features / kBlock; ++block) {
    for (int o = 0; o < kO; ++o) {  // twice: requests are dropped while the memory is busy
      __builtin_prefetch(at.w[o] + ahead, 0, 3);
      __builtin_prefetch(at.w[o] + kNear, 0, 3);
    }
    add_block<Reader, kO, kR>(at, acc);
    for (int o = 0; o < kO; ++o) at.w[o] += Reader::kBlockBytes;
    for (int r = 0; r < kR; ++r) at.x[r] += kBlock;
  }
  if (task.in_features % kBlock != 0) add_tail<Reader, kO, kR>(task, at, acc);
  for (int o = 0; o < kO; ++o) {
    for (int r = 0; r < kR; ++r) write(task, row + r, output + o, sum_of_lanes(acc[o][r]));
  }
}

template <typename Reader, int kO>
void multiply_outputs(const FewRows& task, std::size_t output) {
  std::size_t row = 0;
  for (; row + kMaxStepRows <= task.rows; row += kMaxStepRows) {
    multiply_step<Reader, kO, kMaxStepRows>(task, output, row);
  }
  switch (task.rows - row) {
    case 3:
      return multiply_step<Reader, kO, 3>(task, output, row);
    case 2:
      return multiply_step<Reader, kO, 2>(task, output, row);
    case 1:
      return multiply_step<Reader, kO, 1>(task, output, row);
    default:
      return;
  }
}

template <typename Reader>
void multiply_typed(const FewRows& task, std::size_t outputs) {
  std::size_t output = 0;
  for (; output + kOutputs <= outputs; output += kOutputs) {
    multiply_outputs<Reader, kOutputs>(task, output);
  }
  for (; output < outputs; ++output) multiply_outputs<Reader, 1>(task, output);
}

}  // namespace

void few_rows(const FewRows& task, std::size_t outputs) {
  switch (task.dtype) {
    case DType::kF16:
      return multiply_typed<ReadF16>(task, outputs);
    default:
      return multiply_typed<ReadF32>(task, outputs);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::device::cpu {
HWY_EXPORT(few_rows);

void multiply_few_rows(const FewRows& task, std::size_t outputs) {
  HWY_DYNAMIC_DISPATCH(few_rows)(task, outputs);
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
