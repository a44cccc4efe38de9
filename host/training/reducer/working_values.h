// SPDX-License-Identifier: Apache-2.0
//
// WorkingValues: the values of a bucket in host memory, f32 or f64, while a call reduces them.
//
// f32 and f64 values in host memory are used in place. load() widens 16-bit values and copies
// values from a device. store() writes loaded values back. After clip_parameters() the values are a
// copy, so that a failed call changes nothing. Ownership: borrows the call and the device's memory.
// Threads: the reducer's own. Errors: those of the device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/raw_vector.h"
#include "device/gradient_memory.h"
#include "training/reducer/calls.h"

namespace tandem::training {

class WorkingValues {
 public:
  // memory: that of the call's device; null for host memory.
  WorkingValues(const BucketCall& call, device::GradientMemory* memory, Deadline deadline);

  DType type() const { return type_; }
  std::byte* at(std::uint64_t value) { return values_ + value * width_; }
  bool on_device() const { return memory_ != nullptr; }

  // Whether all segments are already loaded.
  bool is_whole() const { return whole_; }
  void load(std::span<const Segment> segments);
  void load_all();
  // Writes back the loaded values; does nothing if the values are used in place.
  void store();

  // The index in the bucket's list of the first parameter with a NaN or an infinity.
  std::optional<std::uint64_t> first_bad_parameter() const;
  // Loads all values. A NaN becomes 0; an infinity becomes the largest finite magnitude of its
  // parameter.
  void clip_parameters();
  // Sets every value of the bucket, in any memory.
  void fill(double value);

  // For values on the device.
  device::GradientView view(const Segment& segment) const;
  // Sets all values of the segment to 0, except values[i] at indices[i] - first.
  void put(const Segment& segment, std::span<const std::uint32_t> indices,
           std::span<const float> values, std::uint64_t first);

 private:
  std::span<std::byte> own_bytes(std::uint64_t begin, std::uint64_t count) const;
  void store_range(std::uint64_t begin, std::uint64_t count);

  const BucketCall& call_;
  device::GradientMemory* memory_;
  const Deadline deadline_;
  DType type_;
  std::size_t width_;
  std::byte* values_ = nullptr;
  bool in_place_ = false;
  bool whole_ = false;
  std::vector<Segment> loaded_;
  RawVector<std::byte> copy_;
};

}  // namespace tandem::training
