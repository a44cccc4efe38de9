// SPDX-License-Identifier: Apache-2.0
//
// RangeMap: a value for every byte of a buffer, stored as few ranges of equal values.
//
// Threads: a value type. Cost: O(log ranges + ranges touched) per call. There is one range per set
// of rows written in the same way, in practice a handful.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>

namespace tandem::device::parallel {

template <typename T>
class RangeMap {
 public:
  RangeMap(std::size_t size, const T& value) : size_(size) { values_.emplace(0, value); }

  // Calls change(begin, end, T&) for every range within [begin, end). Ranges are cut at both ends.
  // Neighbours that are equal afterwards become one range.
  template <typename Change>
  void update(std::size_t begin, std::size_t end, const Change& change) {
    if (begin >= end) return;
    cut(begin);
    cut(end);
    for (auto at = values_.find(begin); at != values_.end() && at->first < end; ++at) {
      change(at->first, end_of(at), at->second);
    }
    join(begin, end);
  }

  // Calls visit(begin, end, const T&) in the same way; changes nothing.
  template <typename Visit>
  void visit(std::size_t begin, std::size_t end, const Visit& visit) const {
    if (begin >= end) return;
    for (auto at = std::prev(values_.upper_bound(begin)); at != values_.end() && at->first < end;
         ++at) {
      visit(at->first < begin ? begin : at->first, end_of(at) > end ? end : end_of(at), at->second);
    }
  }

 private:
  using At = typename std::map<std::size_t, T>::const_iterator;
  std::size_t end_of(At at) const {
    return std::next(at) == values_.end() ? size_ : std::next(at)->first;
  }

  void cut(std::size_t at) {
    if (at >= size_) return;
    const auto range = std::prev(values_.upper_bound(at));
    values_.emplace(at, range->second);  // does nothing if a range begins there
  }

  void join(std::size_t begin, std::size_t end) {
    auto at = values_.find(begin);
    if (at != values_.begin()) --at;
    while (std::next(at) != values_.end() && std::next(at)->first <= end) {
      if (at->second == std::next(at)->second) {
        values_.erase(std::next(at));
      } else {
        ++at;
      }
    }
  }

  std::size_t size_;
  std::map<std::size_t, T> values_;  // key: the first byte of the range
};

}  // namespace tandem::device::parallel
