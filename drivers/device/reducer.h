// SPDX-License-Identifier: Apache-2.0
//
// Reducer: adds up one range of floats of every compute unit of a group.
//
// Takes effect in the units' queues, after what was enqueued there and before what is enqueued
// later; an implementation may wait on the host or only enqueue. Numerics: f32; every unit gets the
// same bits. The order of additions is unit order, unless the implementation states another one,
// which is the same at every call of that length. Threads: the units' submitting thread. Errors:
// DeviceError when a unit failed; the ranges are undefined then.
#pragma once

#include <cstddef>
#include <span>

#include "device/buffer.h"

namespace tandem::device {

class Reducer {
 public:
  virtual ~Reducer() = default;

  // Every range becomes the sum of all. parts: [units], each [count] floats of that unit.
  virtual void all_reduce(std::span<const Slice> parts, std::size_t count) = 0;
};

}  // namespace tandem::device
