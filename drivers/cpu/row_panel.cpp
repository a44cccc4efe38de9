// SPDX-License-Identifier: Apache-2.0
//
// RowPanel: rows in groups of up to 8 through attend_tiles(), then the division by the sum.
#include "cpu/row_panel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tandem::device::cpu {

void RowPanel::start(std::size_t rows, std::size_t head_dim) {
  head_dim_ = head_dim;
  stride_ = (head_dim + 15) / 16 * 16;
  q_.assign(rows * stride_, 0.0f);
  acc_.assign(rows * stride_, 0.0f);
  peak_.assign(rows, -std::numeric_limits<float>::infinity());
  sum_.assign(rows * kTileTokens, 0.0f);
}

void RowPanel::set_query(std::size_t row, const float* q, float scale) {
  for (std::size_t d = 0; d < head_dim_; ++d) q_[row * stride_ + d] = q[d] * scale;
}

void RowPanel::attend(DType type, std::size_t begin, std::size_t end, const KvTile* tiles,
                      int num_tiles, const KvTile* next) {
  for (std::size_t row = begin; row < end; row += kMaxRows) {
    AttentionRows rows;
    rows.rows = static_cast<int>(std::min<std::size_t>(kMaxRows, end - row));
    rows.stride = stride_;
    rows.q = q_.data() + row * stride_;
    rows.peak = peak_.data() + row;
    rows.sum = sum_.data() + row * kTileTokens;
    rows.acc = acc_.data() + row * stride_;
    attend_tiles(type, rows, tiles, num_tiles, row == begin ? next : nullptr);
  }
}

void RowPanel::finish(std::size_t row, float* o, float* lse) const {
  const float* lanes = sum_.data() + row * kTileTokens;
  const float sum = std::accumulate(lanes, lanes + kTileTokens, 0.0f);
  const float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
  for (std::size_t d = 0; d < head_dim_; ++d) o[d] = acc_[row * stride_ + d] * factor;
  *lse = sum == 0.0f ? -std::numeric_limits<float>::infinity() : peak_[row] + std::log(sum);
}

}  // namespace tandem::device::cpu
