// SPDX-License-Identifier: Apache-2.0
//
// RowPanel: the running softmax of query rows that share a KV head, from the first tile to the
// normalised (O, LSE).
//
// Memory: 2 * stride + 17 floats per row, kept for the next panel. Threads: one at a time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cpu/kernels/attention/attention_block.h"

namespace tandem::device::cpu {

class RowPanel {
 public:
  void start(std::size_t rows, std::size_t head_dim, float softcap);
  void set_query(std::size_t row, const float* q /* [head_dim] */, float scale);

  // Rows [begin, end) see `tiles`: at most kMaxTiles of f32, or kStoredTiles of another type.
  // `next`: the same number of tiles for the next call, which are prefetched; `tiles` itself if
  // there is no next call.
  void attend(DType type, std::size_t begin, std::size_t end, std::span<const KvTile> tiles,
              const KvTile* next);

  // Every row sees the slots seen[row] of an f32 tile; see AttentionRows::seen.
  void attend_seen(const KvTile& tile, const SlotRange* seen);

  // A row without visible tokens gives O = 0, LSE = -inf.
  void finish(std::size_t row, float* o /* [head_dim] */, float* lse) const;

  std::size_t stride() const { return stride_; }

 private:
  AttentionRows rows_of(std::size_t begin, std::size_t end);

  std::size_t head_dim_ = 0, stride_ = 0;
  float softcap_ = 0;
  std::vector<float> q_, acc_;  // [rows, stride]
  std::vector<float> peak_;     // [rows]
  std::vector<float> sum_;      // [rows, 16]
};

}  // namespace tandem::device::cpu
