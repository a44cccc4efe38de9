// SPDX-License-Identifier: Apache-2.0
//
// CountTally: sums over the counts of slices or fibres, from which the summary is computed.
//
// Only integers, so the order in which counts arrive does not matter. FiberCounts: the number of
// entries of every fibre of one mode; the counts of slices are derived from it. Threads: one at a
// time per object. Cost: see features.h.
#pragma once

#include <cstdint>
#include <variant>

#include "common/thread_pool.h"
#include "tensor/sparse/features/features.h"

namespace tandem::sparse {

class CountTally {
 public:
  void add(std::uint64_t count) {
    if (count == 0) return;
    ++nonempty_;
    sum_ += count;
    squares_ += static_cast<unsigned __int128>(count) * count;
    max_ = count > max_ ? count : max_;
    min_ = count < min_ ? count : min_;
  }

  // all: the number of slices or fibres, including those that were never added.
  CountSummary summary(double all) const;

 private:
  std::uint64_t nonempty_ = 0, sum_ = 0, max_ = 0, min_ = ~std::uint64_t{0};
  unsigned __int128 squares_ = 0;
};

// Slices of the pair (a, b) where all other modes are fixed.
struct SliceTallies {
  CountTally entries, fibers;
};

class FiberCounts {
 public:
  // `tensor` must outlive the object.
  FiberCounts(const CooTensor& tensor, std::size_t mode, ThreadPool& pool);

  CountTally tally() const;

  // other: a mode before the fibre's.
  SliceTallies slices(std::size_t other, ThreadPool& pool) const;

 private:
  // One count for each possible fibre, in lexicographic order of the fixed modes.
  using Array = RawVector<std::uint32_t>;
  struct Groups {                        // one element for each fibre with an entry
    RawVector<std::uint64_t> positions;  // position of one entry of the fibre
    RawVector<std::uint64_t> counts;
  };

  Array count_in_array() const;
  Groups count_by_sort(ThreadPool& pool) const;
  SliceTallies slices_of_array(const Array& counts, std::size_t other) const;
  SliceTallies slices_of_groups(const Groups& groups, std::size_t other, ThreadPool& pool) const;

  const CooTensor& tensor_;
  std::size_t mode_;
  std::variant<Array, Groups> fibers_;
};

}  // namespace tandem::sparse
