// SPDX-License-Identifier: Apache-2.0
//
// A copy has room for the whole bucket; pages that are not loaded are never touched.
#include "training/reducer/working_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "training/reducer/values.h"

namespace tandem::training {
WorkingValues::WorkingValues(const BucketCall& call, device::GradientMemory* memory,
                             Deadline deadline)
    : call_(call),
      memory_(memory),
      deadline_(deadline),
      type_(is_16_bit(call.head.type) ? DType::kF32 : call.head.type),
      width_(bytes_of(type_)),
      in_place_(memory == nullptr && !is_16_bit(call.head.type)),
      whole_(in_place_) {
  if (in_place_) {
    values_ = static_cast<std::byte*>(call.values);
    return;
  }
  copy_.resize(call.plan->num_values * width_);
  values_ = copy_.data();
}

std::span<std::byte> WorkingValues::own_bytes(std::uint64_t begin, std::uint64_t count) const {
  const std::size_t width = bytes_of(call_.head.type);
  return {static_cast<std::byte*>(call_.values) + begin * width, count * width};
}

void WorkingValues::load(std::span<const Segment> segments) {
  if (whole_) return;
  RawVector<std::byte> narrow_values;
  for (const Segment& segment : segments) {
    std::span<std::byte> from = own_bytes(segment.begin, segment.count);
    const bool widens = is_16_bit(call_.head.type);
    if (memory_ != nullptr) {
      std::span<std::byte> to(at(segment.begin), from.size());
      if (widens) {
        narrow_values.resize(from.size());
        to = narrow_values;
      }
      memory_->read(from, call_.placement(), to, deadline_);
      from = to;
    }
    if (widens) {
      widen(from.data(), segment.count, call_.head.type,
            reinterpret_cast<float*>(at(segment.begin)));
    }
    loaded_.push_back(segment);
  }
}

void WorkingValues::load_all() {
  if (whole_) return;
  const Segment all{0, 0, call_.plan->num_values};
  load({&all, 1});
  whole_ = true;
}

void WorkingValues::store() {
  for (const Segment& segment : loaded_) store_range(segment.begin, segment.count);
}

void WorkingValues::store_range(std::uint64_t begin, std::uint64_t count) {
  const std::span<std::byte> to = own_bytes(begin, count);
  std::span<const std::byte> from(at(begin), count * width_);
  RawVector<std::byte> narrowed;
  if (is_16_bit(call_.head.type)) {
    narrowed.resize(to.size());
    narrow(reinterpret_cast<const float*>(from.data()), count, call_.head.type, narrowed.data());
    from = narrowed;
  }
  if (memory_ != nullptr) {
    memory_->write(from, to, call_.placement(), deadline_);
  } else {
    std::memcpy(to.data(), from.data(), from.size());
  }
}

std::optional<std::uint64_t> WorkingValues::first_bad_parameter() const {
  const BucketPlan& plan = *call_.plan;
  const auto place =
      whole_ ? first_non_finite(values_, plan.num_values, type_)
             : memory_->measure(view({0, 0, plan.num_values}), deadline_).first_non_finite;
  if (!place) return std::nullopt;
  const auto after = std::ranges::upper_bound(plan.segments, *place, {}, &Segment::begin);
  return static_cast<std::uint64_t>(after - plan.segments.begin() - 1);
}

void WorkingValues::clip_parameters() {
  load_all();
  if (in_place_) {
    const std::span<std::byte> own = own_bytes(0, call_.plan->num_values);
    copy_.assign(own.begin(), own.end());
    values_ = copy_.data();
    in_place_ = false;
    loaded_.push_back({0, 0, call_.plan->num_values});
  }
  for (const Segment& segment : call_.plan->segments) clip(at(segment.begin), segment.count, type_);
}

void WorkingValues::fill(double value) {
  const std::span<std::byte> own = own_bytes(0, call_.plan->num_values);
  if (memory_ == nullptr) {
    training::fill(own.data(), call_.plan->num_values, call_.head.type, value);
    return;
  }
  RawVector<std::byte> filled(own.size());
  training::fill(filled.data(), call_.plan->num_values, call_.head.type, value);
  memory_->write(filled, own, call_.placement(), deadline_);
}

device::GradientView WorkingValues::view(const Segment& segment) const {
  return {own_bytes(segment.begin, segment.count), call_.head.type, call_.placement()};
}

void WorkingValues::put(const Segment& segment, std::span<const std::uint32_t> indices,
                        std::span<const float> values, std::uint64_t first) {
  std::vector<std::uint32_t> places(indices.size());
  std::ranges::transform(indices, places.begin(), [&](std::uint32_t index) {
    return static_cast<std::uint32_t>(index - first);
  });
  std::vector<float> cut(values.begin(), values.end());
  if (call_.head.type == DType::kF16) {  // a residual can exceed the largest gradient
    for (float& value : cut) value = std::clamp(value, -kMostF16, kMostF16);
  }
  memory_->put({own_bytes(segment.begin, segment.count), call_.head.type, call_.placement()},
               places, cut, deadline_);
}

}  // namespace tandem::training
