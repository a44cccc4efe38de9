// SPDX-License-Identifier: Apache-2.0
//
// PreparedRows: the rows of a product in the forms that its kernels need.
//
// A row may be picked from others, normalised or gated; x itself does not change. It is then stored
// in every form that a product of the call needs: f32, int8 with scales
// (kernels/quantized_products/quantized_rows.h), bfloat16, or f32 in panels of 32 rows
// (kernels/float_products/matmul.h). Memory is kept for the next call. Threads: prepare() of
// different rows from any; rows of one panel (kPanelRows) on one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/aligned_vector.h"
#include "cpu/kernels/quantized_products/quantized_rows.h"
#include "device/compute_unit.h"

namespace tandem::device::cpu {

struct RowSource {
  const float* x = nullptr;  // [*, width]
  std::size_t rows = 0, width = 0;
  std::span<const std::int32_t> picks;  // row i is x[picks[i]]; empty: x[i]
  const float* norm = nullptr;          // [width]: x / sqrt(mean(x^2) + norm_epsilon) * norm
  float norm_epsilon = 0;
  const float* up = nullptr;  // [*, width], picked like x: activation(x) * up
  Activation activation = Activation::kSilu;
};

struct RowForms {
  bool plain = false, panels = false, quantized = false, bf16 = false;
};

class PreparedRows {
 public:
  // Allocates. The source must outlive the last prepare().
  void begin(const RowSource& source, const RowForms& forms);

  // Writes rows [first, last) in every form. `row`: memory for one row; each thread has its own.
  void prepare(std::size_t first, std::size_t last, std::vector<float>& row);

  std::size_t rows() const { return source_.rows; }
  bool needs_work() const;  // false: prepare() has nothing to do, because plain() is x

  const float* plain() const { return changes_ ? plain_.data() : source_.x; }  // [rows, width]
  const float* panels() const { return panels_.data(); }        // [rows / 32, width, 32]
  const RowChunk* quantized() const { return chunks_.data(); }  // [chunks][rows]
  const std::uint16_t* bf16() const { return bf16_.data(); }    // [chunks][rows][kBf16Chunk]

 private:
  RowSource source_;
  RowForms forms_;
  bool changes_ = false;  // whether the prepared rows differ from those of x
  std::vector<float> plain_;
  AlignedVector<float> panels_;  // its rows are whole cache lines
  std::vector<RowChunk> chunks_;
  AlignedVector<std::uint16_t> bf16_;
};

}  // namespace tandem::device::cpu
