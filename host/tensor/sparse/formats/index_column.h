// SPDX-License-Identifier: Apache-2.0
//
// IndexColumn: the indices of one mode of a tensor, one per entry, counted from 0.
//
// An index takes 4 bytes while all are below 2^32, otherwise 8 bytes: the column is then "wide". A
// narrow column becomes wide by itself when a larger index is added. visit() passes the array with
// its true type, for loops. Threads: as a std::vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/raw_vector.h"

namespace tandem::sparse {

class IndexColumn {
 public:
  IndexColumn() = default;

  std::size_t size() const { return is_wide_ ? wide_.size() : narrow_.size(); }
  bool wide() const { return is_wide_; }
  std::size_t size_bytes() const { return size() * (is_wide_ ? 8 : 4); }

  std::uint64_t operator[](std::size_t entry) const {
    return is_wide_ ? wide_[entry] : narrow_[entry];
  }

  // New entries are uninitialised. `greatest`: the largest index to come; the column becomes wide
  // for it if necessary.
  void resize(std::size_t size, std::uint64_t greatest);

  // The index must not exceed the `greatest` of resize().
  void set(std::size_t entry, std::uint64_t index) {
    if (is_wide_) {
      wide_[entry] = index;
    } else {
      narrow_[entry] = static_cast<std::uint32_t>(index);
    }
  }

  // Calls visit() with a std::span<const std::uint32_t>, or of std::uint64_t if the column is wide.
  template <typename Visit>
  decltype(auto) visit(const Visit& visit) const {
    if (is_wide_) return visit(std::span<const std::uint64_t>(wide_));
    return visit(std::span<const std::uint32_t>(narrow_));
  }

  // True if the indices are equal; the widths may differ.
  bool operator==(const IndexColumn& other) const;

 private:
  RawVector<std::uint32_t> narrow_;
  RawVector<std::uint64_t> wide_;  // used instead of narrow_ when is_wide_
  bool is_wide_ = false;
};

}  // namespace tandem::sparse
