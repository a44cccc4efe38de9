// SPDX-License-Identifier: Apache-2.0
//
// BoundedLog: keeps the first `most` entries of a stream, and counts the later ones.
//
// Memory grows with the entries that are kept. Threads: the caller's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem {

template <typename Entry>
class BoundedLog {
 public:
  explicit BoundedLog(std::size_t most) : most_(most) {}

  bool is_kept() const { return most_ > 0; }
  void add(const Entry& entry) {
    if (entries_.size() < most_) {
      entries_.push_back(entry);
    } else {
      ++dropped_;
    }
  }
  void clear() {
    entries_.clear();
    dropped_ = 0;
  }
  const std::vector<Entry>& entries() const { return entries_; }
  // The number of entries that were not kept; 0 for a log that keeps none.
  std::uint64_t dropped() const { return is_kept() ? dropped_ : 0; }

 private:
  std::size_t most_;
  std::vector<Entry> entries_;
  std::uint64_t dropped_ = 0;
};

}  // namespace tandem
