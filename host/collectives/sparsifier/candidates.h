// SPDX-License-Identifier: Apache-2.0
//
// Candidates: the large values of a range of an accumulated gradient, found in one pass over it.
//
// Counts above a threshold, cuts and exact top-k need only the candidates. A threshold below the
// floor needs another pass over the gradient. Results are exact. They depend neither on how
// candidates were found nor on the number of threads. HostCandidates: a sample of at most 65,536
// values gives the floor of collect(); one pass keeps every |x| >= floor. Candidates of a device:
// device_residual.cpp. Ownership: borrows the values and the threads. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "collectives/sparsifier/selection_kernels.h"
#include "common/function_ref.h"
#include "common/raw_vector.h"
#include "common/thread_pool.h"

namespace tandem::collectives {

using Indices = RawVector<std::uint32_t>;

// Calls the body for consecutive parts of [begin, end), on the threads if given. Parts begin at
// begin + a multiple of 4096, for any number of threads.
using PartBody = FunctionRef<void(std::uint64_t begin, std::uint64_t end, std::size_t part)>;
std::size_t num_parts_of(std::uint64_t num_values);
void for_each_part(std::uint64_t begin, std::uint64_t end, ThreadPool* threads, PartBody body);

// The places in [begin, end) with |values[place]| >= threshold, ascending.
Indices find_at_least(std::span<const float> values, std::uint64_t begin, std::uint64_t end,
                      float threshold, ThreadPool* threads);

// The values with |x| >= a threshold.
struct Survivors {
  Moments moments;
  float smallest = 0;  // magnitude; infinite if there is none
};

// A threshold and what the same pass counts besides: whether `wanted` values reach `below`, and how
// many reach `above`.
struct Bracket {
  float below = -1;  // negative: not counted
  float threshold = 0;
  float above = std::numeric_limits<float>::infinity();
  std::uint64_t wanted = 0;
};
struct Bracketed {
  Indices places;  // of the values that reach the threshold, ascending
  bool enough_below = true;
  std::uint64_t count_above = 0;
};

class Candidates {
 public:
  Candidates(std::uint64_t begin, std::uint64_t end) : begin_(begin), end_(end) {}
  virtual ~Candidates() = default;
  Candidates(const Candidates&) = delete;
  Candidates& operator=(const Candidates&) = delete;

  // Makes sure that there are at least min(count, numbers in the range) candidates.
  void collect(std::uint64_t count);
  // Makes sure that the floor is at most `threshold`.
  void collect_from(float threshold);
  // A hint: the next questions use thresholds down to `now`, later ones perhaps down to `later`.
  virtual void expect(float now, float later) = 0;

  std::uint64_t size() const { return indices_.size(); }
  std::uint64_t num_values() const { return end_ - begin_; }

  // The number of values with |x| >= threshold.
  std::uint64_t count_at_least(float threshold);
  // The same number if it is below size(); otherwise any number >= size(). Never makes a pass.
  std::uint64_t count_up_to_size(float threshold) const;
  Survivors survivors(float threshold);

  // At most `most` magnitudes, spread over the whole range; empty if sampling saves no pass.
  virtual RawVector<float> sample(std::uint64_t /*most*/) { return {}; }
  virtual Bracketed find_bracketed(const Bracket& bracket);

  Indices at_least(float threshold);
  // Moves all candidates out.
  Indices release();
  // The places of the `count` largest values; of equal magnitudes the lower place. All if there are
  // fewer.
  virtual Indices top(std::uint64_t count);
  // The smallest magnitude of top(count); 0 if there is none.
  float nth_largest(std::uint64_t count);

 protected:
  // Makes every value from the floor on a candidate.
  virtual void take(float floor) = 0;
  // Finds at least `count` candidates, or all numbers; sets the floor. Some candidates may be below
  // it.
  virtual void take_top(std::uint64_t count) = 0;
  // Counts below the floor without collecting candidates; empty: candidates must be collected.
  virtual std::optional<std::uint64_t> count_in_place(float /*threshold*/) { return std::nullopt; }
  virtual std::optional<Survivors> survivors_in_place(float /*threshold*/) { return std::nullopt; }

  bool is_below_floor(float threshold) const { return !collected_ || threshold < floor_; }

  const std::uint64_t begin_, end_;
  float floor_ = 0;
  bool collected_ = false;
  bool all_reach_floor_ = true;
  Indices indices_;
  RawVector<float> magnitudes_;

 private:
  Indices kept(float threshold) const;  // threshold: not below the floor
};

class HostCandidates final : public Candidates {
 public:
  // values_read: incremented by the number of values read; may be null.
  HostCandidates(std::span<const float> values, std::uint64_t begin, std::uint64_t end,
                 ThreadPool* threads, std::uint64_t* values_read = nullptr)
      : Candidates(begin, end), values_(values), threads_(threads), values_read_(values_read) {}

  void expect(float now, float later) override {
    if (is_below_floor(now)) take(later);
  }
  RawVector<float> sample(std::uint64_t most) override;
  Bracketed find_bracketed(const Bracket& bracket) override;

 protected:
  void take(float floor) override;
  void take_top(std::uint64_t count) override;

 private:
  float sampled_floor(double share);
  void count_read(std::uint64_t values) {
    if (values_read_ != nullptr) *values_read_ += values;
  }

  std::span<const float> values_;
  ThreadPool* threads_;
  std::uint64_t* values_read_;
};

}  // namespace tandem::collectives
