// SPDX-License-Identifier: Apache-2.0
//
// A new composition begins with the next step, so that means can be read until then.
#include "training/reducer/gradient_buckets.h"

#include <algorithm>
#include <exception>

#include "common/error.h"

namespace tandem::training {
namespace {

constexpr std::uint64_t kFirstBucketValues = (1 << 20) / sizeof(float);

}  // namespace

GradientBuckets::GradientBuckets(Reducer& reducer, std::uint64_t bucket_bytes,
                                 const std::vector<NamedShape>& parameters,
                                 const std::vector<std::uint32_t>& order)
    : reducer_(reducer), bucket_values_(std::max<std::uint64_t>(1, bucket_bytes / sizeof(float))) {
  if (parameters.empty()) throw Error("training", "a model has at least one parameter");
  std::vector<std::uint32_t> backwards;
  for (const auto& [name, shape] : parameters) {
    Slot& slot = slots_.emplace_back();
    slot.number = reducer_.add_parameter(name, shape);
    slot.num_values = 1;
    for (const std::int64_t size : shape) slot.num_values *= static_cast<std::uint64_t>(size);
    backwards.insert(backwards.begin(), static_cast<std::uint32_t>(slots_.size() - 1));
  }
  order_fixed_ = !order.empty();
  if (order_fixed_ && !std::ranges::is_permutation(order, backwards)) {
    throw Error("training", "the order of the buckets is of another model");
  }
  compose(order_fixed_ ? order : backwards);
}

std::vector<std::uint32_t> GradientBuckets::order() const {
  if (!order_fixed_ || !order_.empty()) return order_;
  std::vector<std::uint32_t> order;
  for (const OpenBucket& bucket : buckets_) {
    order.insert(order.end(), bucket.parameters.begin(), bucket.parameters.end());
  }
  return order;
}

void GradientBuckets::compose(const std::vector<std::uint32_t>& order) {
  buckets_.clear();
  for (const std::uint32_t parameter : order) {
    Slot& slot = slots_[parameter];
    const std::uint64_t most =
        buckets_.size() < 2 ? std::min(bucket_values_, kFirstBucketValues) : bucket_values_;
    if (buckets_.empty() || buckets_.back().values.size() + slot.num_values > most) {
      buckets_.emplace_back();
    }
    OpenBucket& bucket = buckets_.back();
    slot.bucket = buckets_.size() - 1;
    slot.begin = bucket.values.size();
    bucket.values.resize(slot.begin + slot.num_values);
    bucket.parameters.push_back(parameter);
    bucket.numbers.push_back(slot.number);
  }
  begin_step();
}

void GradientBuckets::begin_step() {
  next_ = 0;
  arrived_.clear();
  for (OpenBucket& bucket : buckets_) {
    bucket.missing = bucket.parameters.size();
    bucket.ticket = 0;
  }
  for (Slot& slot : slots_) {
    slot.is_ready = false;
    slot.gradient = {};
  }
}

GradientBuckets::~GradientBuckets() {
  for (const OpenBucket& bucket : buckets_) {
    try {
      if (bucket.ticket != 0) reducer_.wait(bucket.ticket, Deadline::never());
    } catch (const std::exception&) {
      continue;  // who wanted to know has asked finish()
    }
  }
}

void GradientBuckets::open_step() {
  if (stuck_)
    throw Error("training", "the buckets of an earlier step are not done; restart the run");
  if (order_.empty()) return;
  compose(order_);
  order_.clear();
}

void GradientBuckets::ready(std::size_t parameter, std::span<float> gradient) {
  open_step();
  Slot& slot = slots_.at(parameter);
  if (slot.is_ready) {
    throw Error("training", "the gradient of parameter " + std::to_string(parameter) +
                                " came twice in a step; call finish() at the end of each step");
  }
  if (gradient.size() != slot.num_values) {
    throw Error("training", "the gradient of parameter " + std::to_string(parameter) + " has " +
                                std::to_string(gradient.size()) + " values, the parameter " +
                                std::to_string(slot.num_values));
  }
  std::ranges::copy(gradient, values_of(slot));
  slot.gradient = gradient;
  slot.is_ready = true;
  if (!order_fixed_) arrived_.push_back(static_cast<std::uint32_t>(parameter));
  --buckets_[slot.bucket].missing;
  submit_complete();
}

void GradientBuckets::submit_complete() {
  for (; next_ < buckets_.size() && buckets_[next_].missing == 0; ++next_) {
    OpenBucket& bucket = buckets_[next_];
    bucket.ticket = reducer_.submit({.parameters = bucket.numbers,
                                     .values = bucket.values.data(),
                                     .last = next_ + 1 == buckets_.size()});
    if (listener_) listener_({bucket.parameters, bucket.values, bucket.ticket});
  }
}

void GradientBuckets::wait_for_all(Deadline deadline) {
  std::exception_ptr error;
  for (const OpenBucket& bucket : buckets_) {
    try {
      stuck_ = stuck_ || !reducer_.wait(bucket.ticket, deadline);
    } catch (const std::exception&) {
      if (!error) error = std::current_exception();
    }
  }
  if (stuck_) throw Error("training", "the step's buckets are not done by the deadline");
  if (!error) return;
  begin_step();
  std::rethrow_exception(error);
}

void GradientBuckets::finish(Deadline deadline, Means means) {
  open_step();
  for (Slot& slot : slots_) {
    if (slot.is_ready) continue;
    std::fill_n(values_of(slot), slot.num_values, 0.0f);
    --buckets_[slot.bucket].missing;
  }
  submit_complete();
  wait_for_all(deadline);
  for (const Slot& slot : slots_) {
    if (slot.is_ready && means == Means::kWrite)
      std::copy_n(values_of(slot), slot.num_values, slot.gradient.begin());
  }
  if (order_fixed_) {
    begin_step();
  } else {
    agree_on_order();
  }
}

void GradientBuckets::agree_on_order() {
  std::vector<std::uint32_t> order = arrived_;
  for (const OpenBucket& bucket : buckets_) {
    for (const std::size_t parameter : bucket.parameters) {
      if (!slots_[parameter].is_ready) order.push_back(static_cast<std::uint32_t>(parameter));
    }
  }
  reducer_.wait(reducer_.broadcast(order, 0), Deadline::never());
  order_fixed_ = true;
  order_ = std::move(order);
  begin_step();
}

std::span<const float> GradientBuckets::mean(std::size_t parameter) const {
  const Slot& slot = slots_.at(parameter);
  return {buckets_[slot.bucket].values.data() + slot.begin, slot.num_values};
}

}  // namespace tandem::training
