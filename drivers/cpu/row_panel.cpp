// SPDX-License-Identifier: Apache-2.0
//
// RowPanel: rows in groups of up to 8 through attend_tiles(), then the division by the sum.
#include "cpu/row_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tandem::device::cpu {

void RowPanel::start(std::size_t rows, std::size_t head_dim, float softcap) {
  head_dim_ = head_dim;
  stride_ = (head_dim + 15) / 16 * 16;
  softcap_ = softcap;
  q_.assign(rows * stride_, 0.0f);
  acc_.assign(rows * stride_, 0.0f);
  peak_.assign(rows, -std::numeric_limits<float>::infinity());
  sum_.assign(rows * kTileTokens, 0.0f);
}

void RowPanel::set_query(std::size_t row, const float* q, float scale) {
  std::transform(q, q + head_dim_, q_.begin() + row * stride_,
                 [scale](float x) { return x * scale; });
}

AttentionRows RowPanel::rows_of(std::size_t begin, std::size_t end) {
  AttentionRows rows;
  rows.rows = static_cast<int>(std::min<std::size_t>(kMaxRows, end - begin));
  rows.stride = stride_;
  rows.softcap = softcap_;
  rows.q = q_.data() + begin * stride_;
  rows.peak = peak_.data() + begin;
  rows.sum = sum_.data() + begin * kTileTokens;
  rows.acc = acc_.data() + begin * stride_;
  return rows;
}

void RowPanel::attend(DType type, std::size_t begin, std::size_t end, std::span<const KvTile> tiles,
                      const KvTile* next) {
  for (std::size_t done = 0; done < tiles.size();) {
    const std::size_t left = tiles.size() - done;
    const std::size_t count = left >= 4 && type == DType::kF32 ? 4 : left >= 2 ? 2 : 1;
    const KvTile* part = tiles.data() + done;
    for (std::size_t row = begin; row < end; row += kMaxRows) {
      const KvTile* ahead = row == begin ? next + done : part;
      attend_tiles(type, rows_of(row, end), part, static_cast<int>(count), ahead);
    }
    done += count;
  }
}

void RowPanel::attend_seen(const KvTile& tile, const SlotRange* seen) {
  for (std::size_t row = 0; row < peak_.size(); row += kMaxRows) {
    AttentionRows rows = rows_of(row, peak_.size());
    rows.seen = seen + row;
    attend_tiles(DType::kF32, rows, &tile, 1, &tile);
  }
}

void RowPanel::finish(std::size_t row, float* o, float* lse) const {
  std::array<float, kTileTokens> lanes;
  std::copy_n(sum_.begin() + row * kTileTokens, kTileTokens, lanes.begin());
  for (std::size_t half = kTileTokens / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  const float sum = lanes[0];
  const float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
  const auto acc = acc_.begin() + row * stride_;
  std::transform(acc, acc + head_dim_, o, [factor](float x) { return x * factor; });
  *lse = sum == 0.0f ? -std::numeric_limits<float>::infinity() : peak_[row] + std::log(sum);
}

}  // namespace tandem::device::cpu
