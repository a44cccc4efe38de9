// SPDX-License-Identifier: Apache-2.0
//
// Candidates: the large values of an accumulated gradient, found in one pass over it.
//
// A sample of at most 65,536 values gives a floor; one pass keeps every |x| >= floor. Counts above
// any threshold, cuts and exact top-k then need the candidates only. A question that goes below the
// floor reads the gradient again. Answers are exact and depend neither on the sample nor on the
// number of threads. Ownership: borrows the values and the threads. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/sparsifier/selection_kernels.h"
#include "common/function_ref.h"
#include "common/raw_vector.h"
#include "common/thread_pool.h"

namespace tandem::collectives {

using Indices = RawVector<std::uint32_t>;

// Calls the body for consecutive parts of [begin, end), on the threads if there are some. Parts
// begin at begin + a multiple of 4096, whatever the number of threads.
using PartBody = FunctionRef<void(std::uint64_t begin, std::uint64_t end, std::size_t part)>;
std::size_t num_parts_of(std::uint64_t num_values);
void for_each_part(std::uint64_t begin, std::uint64_t end, ThreadPool* threads, PartBody body);

// The places in [begin, end) with |values[place]| >= threshold, ascending.
Indices find_at_least(std::span<const float> values, std::uint64_t begin, std::uint64_t end,
                      float threshold, ThreadPool* threads);

class Candidates {
 public:
  Candidates(std::span<const float> values, std::uint64_t begin, std::uint64_t end,
             ThreadPool* threads)
      : values_(values), begin_(begin), end_(end), threads_(threads) {}

  // Afterwards there are at least min(count, end - begin) candidates.
  void collect(std::uint64_t count);
  // Afterwards the floor is at most `threshold`.
  void collect_from(float threshold);

  std::uint64_t size() const { return indices_.size(); }
  float floor() const { return floor_; }
  std::uint64_t num_values() const { return end_ - begin_; }

  // How many values have |x| >= threshold. Below the floor it collects first.
  std::uint64_t count_at_least(float threshold);
  // The same where the answer is below size(); size() or more elsewhere, without a pass.
  std::uint64_t count_up_to_size(float threshold) const;
  Moments moments_at_least(float threshold);
  float smallest_at_least(float threshold);

  Indices at_least(float threshold);
  // All candidates; there are none afterwards.
  Indices release();
  // The `count` largest; of equal magnitudes the lower index. All if there are fewer.
  Indices top(std::uint64_t count);
  // The smallest magnitude of top(count). count: at least 1, at most num_values().
  float nth_largest(std::uint64_t count);

 private:
  float sampled_floor(double share) const;
  void take(float floor);
  Indices kept(float threshold) const;  // not below the floor

  std::span<const float> values_;
  std::uint64_t begin_, end_;
  ThreadPool* threads_;
  float floor_ = 0;
  bool collected_ = false;
  Indices indices_;
  RawVector<float> magnitudes_;
};

}  // namespace tandem::collectives
