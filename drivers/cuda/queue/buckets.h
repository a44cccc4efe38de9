// SPDX-License-Identifier: Apache-2.0
//
// Buckets: launch shapes of attention, each made once per key.
//
// Sizes are rounded up to a quarter of their power of two, so nearby sizes give the same launch.
// The address of a bucket does not change. Launch records hold this address: 8 bytes, equal if the
// bucket is the same. Threads: one.
#pragma once

#include <bit>
#include <cstddef>
#include <list>

#include <algorithm>

namespace tandem::cuda {

// Rounds `count` up, so that nearby counts give the same size.
inline int about(std::size_t count, std::size_t least_step) {
  const std::size_t step = std::max(least_step, std::bit_floor(count) / 4);
  return static_cast<int>((count + step - 1) / step * step);
}

// The numbers of decode rows with their own graphs: 1, 2, 3, 4, 6, 8, then steps of 8 up to 64, of
// 16 up to 256, of 32 above. While reading weights dominates a step, one more row costs its
// activations: for a Llama-3-8B shape some 80,000 floats per layer, 10 MB, compared with 16 GB of
// weights. All sizes of a bucket also share one launch shape of attention (about()).
inline std::size_t row_bucket(std::size_t rows) {
  if (rows <= 4) return rows;
  const std::size_t step = rows <= 8 ? 2 : rows <= 64 ? 8 : rows <= 256 ? 16 : 32;
  return (rows + step - 1) / step * step;
}

template <typename Key, typename Bucket>
class Buckets {
 public:
  // The bucket of a key; make() makes it if the key is new.
  template <typename Make>
  const Bucket& find(const Key& key, Make&& make) {
    for (auto entry = kept_.begin(); entry != kept_.end(); ++entry) {
      if (!(entry->key == key)) continue;
      kept_.splice(kept_.begin(), kept_,
                   entry);  // moved to the front, because the next layer uses it again
      return entry->bucket;
    }
    kept_.push_front({key, make()});
    return kept_.front().bucket;
  }

 private:
  struct Entry {
    Key key;
    Bucket bucket;
  };
  std::list<Entry> kept_;
};

}  // namespace tandem::cuda
