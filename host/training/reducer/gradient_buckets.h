// SPDX-License-Identifier: Apache-2.0
//
// GradientBuckets: fills buckets while a backward pass produces gradients, for callers in C++.
//
//   GradientBuckets buckets(reducer, options.bucket_bytes, {{"layer.weight", {64, 64}}, ...});
//   buckets.ready(0, gradient);   // as each gradient is done, in any order
//   buckets.finish(deadline);     // the end of the backward pass: every gradient is its mean
//
// Buckets contain the parameters in reverse order, and after the first step in the order in which
// rank 0's gradients arrived. The first one has at most 1 MiB, so communication starts early. They
// are submitted in their order. Parameters without a gradient count as zeros. Ownership: borrows
// the reducer, and gradients until finish(). Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/raw_vector.h"
#include "training/reducer/reducer.h"

namespace tandem::training {

class GradientBuckets {
 public:
  using NamedShape = std::pair<std::string, std::vector<std::int64_t>>;

  // Adds the parameters to the reducer. order: the order() of earlier buckets whose reducer state
  // is continued, equal on all ranks; empty: the first step finds an order.
  GradientBuckets(Reducer& reducer, std::uint64_t bucket_bytes,
                  const std::vector<NamedShape>& parameters,
                  const std::vector<std::uint32_t>& order = {});
  ~GradientBuckets();  // waits for its buckets, each at most its timeout
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // parameter: an index of the constructor's list. Errors: Error for a gradient of another size, or
  // one that was already given.
  void ready(std::size_t parameter, std::span<float> gradient);

  // The listener is called for every submitted bucket. Its values are the means after the reducer
  // has waited for its ticket, and stay valid until the next step's first ready().
  struct Submitted {
    std::span<const std::size_t> parameters;
    std::span<const float> values;
    Ticket ticket = 0;
  };
  void on_submit(std::function<void(const Submitted&)> listener) {
    listener_ = std::move(listener);
  }

  // Submits the remaining buckets, waits, and writes the means to the gradients. When all buckets
  // have ended, rethrows the first error; the gradients are then unchanged. Throws Error if the
  // deadline passes; no further step is then possible. kLeave: the means are not written; mean()
  // returns them.
  enum class Means : std::uint8_t { kWrite, kLeave };
  void finish(Deadline deadline, Means means = Means::kWrite);

  // The mean of a parameter, even if this rank had no gradient. Valid until the next ready().
  std::span<const float> mean(std::size_t parameter) const;

  std::size_t num_buckets() const { return buckets_.size(); }

  // The order in which buckets contain the parameters, as indices. Empty before the end of the
  // first step.
  std::vector<std::uint32_t> order() const;

 private:
  struct Slot {
    std::uint32_t number = 0;  // number in the reducer
    std::uint64_t num_values = 0;
    std::size_t bucket = 0;
    std::uint64_t begin = 0;    // offset in the bucket
    std::span<float> gradient;  // of this step
    bool is_ready = false;
  };
  struct OpenBucket {
    std::vector<std::size_t> parameters;
    std::vector<std::uint32_t> numbers;
    RawVector<float> values;
    std::size_t missing = 0;
    Ticket ticket = 0;
  };

  void compose(const std::vector<std::uint32_t>& order);
  void submit_complete();
  void wait_for_all(Deadline deadline);
  void agree_on_order();
  void open_step();
  void begin_step();
  float* values_of(const Slot& slot) { return buckets_[slot.bucket].values.data() + slot.begin; }

  Reducer& reducer_;
  const std::uint64_t bucket_values_;
  std::function<void(const Submitted&)> listener_;
  std::vector<Slot> slots_;
  std::vector<OpenBucket> buckets_;
  std::vector<std::uint32_t> arrived_;  // order of arrival in the first step
  std::size_t next_ = 0;                // bucket to submit
  std::vector<std::uint32_t> order_;    // order of the next step's composition
  bool order_fixed_ = false;            // the order of the first step is in use
  bool stuck_ = false;                  // a deadline has passed
};

}  // namespace tandem::training
