// SPDX-License-Identifier: Apache-2.0
//
// GradientMemory: measures gradients in the memory of a device or of the host, copies them, and
// overwrites them with sparse means.
//
// One object serves all gradients of a device, of any size. A call waits until the queue of a view
// has made its contents ready; its own work has ended when it returns. Numerics: moments are of
// finite values, sums in f64 in the device's order. Ownership: arguments are borrowed until the
// call returns. Threads: one at a time. Errors: Error, with nothing changed, for memory that
// accepts() denies or sizes that do not fit. DeviceError as of SelectionUnit (selection_unit.h); a
// target may be half written then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "common/deadline.h"
#include "tensor/dtype.h"
#include "tensor/view.h"

namespace tandem::device {

struct GradientView {
  std::span<const std::byte> values;  // of `type`, aligned to it
  DType type = DType::kF32;           // kF32, kF16 or kBF16
  Placement placement;
};

// Sums and extremes of the finite values.
struct GradientMoments {
  double sum = 0;         // of |x|
  double signed_sum = 0;  // of x
  double squares = 0;
  double log_sum = 0;  // of ln |x|, over `positive`: zeros and subnormal values are left out
  std::uint64_t count = 0;
  std::uint64_t positive = 0;  // 0 unless logarithms were requested
  std::optional<std::uint64_t> first_non_finite;
  float largest = 0;                                        // |x|
  float smallest = std::numeric_limits<float>::infinity();  // |x|
};

// A gradient that is written.
struct GradientTarget {
  std::span<std::byte> values;  // of `type`, aligned to it
  DType type = DType::kF32;     // kF32, kF16 or kBF16
  Placement placement;
};

class GradientMemory {
 public:
  virtual ~GradientMemory() = default;
  virtual std::string name() const = 0;  // "cuda:0"
  // Host memory is always accepted.
  virtual bool accepts(const Placement& placement) const { return placement.on_host(); }

  // Returns the moments of the gradient.
  virtual GradientMoments measure(const GradientView& gradient, Deadline deadline) = 0;
  // Sets all of `to` to 0, then to[indices[i]] = values[i], rounded to its type. Indices are
  // unique.
  virtual void put(const GradientTarget& to, std::span<const std::uint32_t> indices,
                   std::span<const float> values, Deadline deadline) = 0;

  // read() copies to host memory, write() copies from it. Both spans have the same size; values may
  // have any type.
  virtual void read(std::span<const std::byte> from, const Placement& placement,
                    std::span<std::byte> to, Deadline deadline) = 0;
  virtual void write(std::span<const std::byte> from, std::span<std::byte> to,
                     const Placement& placement, Deadline deadline) = 0;
};

// The checks that every implementation makes first. Each throws Error that names the device.
void check_gradient(const GradientMemory& memory, const GradientView& gradient);
void check_target(const GradientMemory& memory, const GradientTarget& to,
                  std::span<const std::uint32_t> indices, std::span<const float> values);
void check_copy(const GradientMemory& memory, const Placement& placement, std::size_t from_bytes,
                std::size_t to_bytes);

// Checks that values are f32, f16 or bf16, whole and aligned. The Error names `where`.
void check_values(const std::string& where, const void* values, std::size_t bytes, DType type);

}  // namespace tandem::device
