// SPDX-License-Identifier: Apache-2.0
//
// Launch shapes of attention, kept: what was made for a shape and sizes is made once.
//
// Sizes are rounded up to a quarter of their power of two, so that a few rows more or fewer are the
// same launch. A kept bucket has one address for ever, which launch records hold in its place: it
// compares equal where the bucket is, and costs 8 bytes. Threads: one.
#pragma once

#include <bit>
#include <cstddef>
#include <list>

#include <algorithm>

namespace tandem::cuda {

// Room for about `count`.
inline int about(std::size_t count, std::size_t least_step) {
  const std::size_t step = std::max(least_step, std::bit_floor(count) / 4);
  return static_cast<int>((count + step - 1) / step * step);
}

template <typename Key, typename Bucket>
class Buckets {
 public:
  // make(): the bucket of a key that is new.
  template <typename Make>
  const Bucket& find(const Key& key, Make&& make) {
    for (auto entry = kept_.begin(); entry != kept_.end(); ++entry) {
      if (!(entry->key == key)) continue;
      kept_.splice(kept_.begin(), kept_, entry);  // the next layer asks for it again
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
