// SPDX-License-Identifier: Apache-2.0
//
// SelectionUnit: keeps the residual of one gradient (what has not been sent yet) in a device's
// memory, and selects its large entries there. Only indices and values of entries travel to the
// host.
//
// A step: accumulate() adds the gradient; at_least() or top() selects; clear_at() sets to 0 what
// was sent. GradientMemory (gradient_memory.h) checks gradients before a step and writes means
// after it.
// Numerics: those of a plain loop in f32 on every device and in every run; a product is rounded
// before it is added. Sums are in f64, added in an order that the device chooses. Ownership:
// arguments are borrowed until the call returns; results are valid until the next call. Threads:
// one at a time.
// Errors: Error, with the unit unchanged, for an argument that does not fit its shape, or memory
// that accepts() denies. DeviceError, with the unit unchanged, if memory for the call cannot be
// allocated. DeviceError, with the unit and its residual lost (every later call fails at once), if
// started work failed or missed the deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/gradient_memory.h"

namespace tandem::device {

struct SelectionShape {
  std::uint64_t num_values = 0;  // 1 to 2^32 - 1
  bool velocity = false;  // a velocity per value, for momentum correction; it doubles the memory
};

// g: the gradient. With clip_at a NaN becomes 0, and other values are limited to [-clip_at,
// clip_at].
//   velocity = momentum * velocity + scale * g; g = velocity      where the shape has a velocity
//   residual = decay * residual + g
struct AccumulateStep {
  float momentum = 0;
  float scale = 1;
  float decay = 1;
  std::optional<float> clip_at;
  bool logarithms = false;
  std::uint64_t first = 0;  // place of the gradient's first value in the residual
};

struct SelectionRange {
  std::uint64_t begin = 0, end = 0;  // places; at most num_values
};

// Ascending places of the whole gradient and their values, in host memory.
struct SelectedEntries {
  std::span<const std::uint32_t> indices;
  std::span<const float> values;
};

// The state of a unit, as a checkpoint holds it.
struct ResidualView {
  std::span<float> residual;  // [num_values], host memory
  std::span<float> velocity;  // [num_values] if the shape has one, else empty
};

class SelectionUnit {
 public:
  virtual ~SelectionUnit() = default;
  virtual std::string name() const = 0;  // "cuda:0"
  virtual SelectionShape shape() const = 0;
  // Whether gradients may be in this memory. Host memory is always accepted.
  virtual bool accepts(const Placement& placement) const { return placement.on_host(); }

  // Adds a gradient of any length from place step.first on. Returns the moments of the residual
  // there.
  virtual GradientMoments accumulate(const GradientView& gradient, const AccumulateStep& step,
                                     Deadline deadline) = 0;

  // This call and the next ones measure the residual and select from it. A NaN reaches no
  // threshold.
  virtual GradientMoments moments_at_least(SelectionRange range, float threshold, bool logarithms,
                                           Deadline deadline) = 0;
  // The sums of squares of finite values of each range.
  virtual std::vector<double> squares(std::span<const SelectionRange> ranges,
                                      Deadline deadline) = 0;
  virtual std::vector<std::uint64_t> counts_at_least(SelectionRange range,
                                                     std::span<const float> thresholds,
                                                     Deadline deadline) = 0;
  virtual SelectedEntries at_least(SelectionRange range, float threshold, Deadline deadline) = 0;
  // Selects the `count` entries with the largest magnitudes; of equal magnitudes, those at lower
  // places. NaN is never selected. If fewer other values exist, selects all of them.
  virtual SelectedEntries top(SelectionRange range, std::uint64_t count, Deadline deadline) = 0;
  virtual std::span<const float> values_at(std::span<const std::uint32_t> indices,
                                           Deadline deadline) = 0;

  // Packs the largest entries of every chunk of 4,096 values as the message of chunk_topk: `count`
  // entries of a whole chunk, `last_count` of the last chunk (equal to `count` if it is whole).
  // Values are finite.
  virtual std::span<const std::byte> pack_chunks(std::uint32_t count, std::uint32_t last_count,
                                                 Deadline deadline) = 0;

  // Sets residual and velocity to 0 at these places, which are unique.
  virtual void clear_at(std::span<const std::uint32_t> indices, Deadline deadline) = 0;
  // residual[indices[i]] += values[i], at unique places.
  virtual void add_at(std::span<const std::uint32_t> indices, std::span<const float> values,
                      Deadline deadline) = 0;

  virtual void save(const ResidualView& to, Deadline deadline) = 0;
  virtual void load(const ResidualView& from, Deadline deadline) = 0;
};

// The checks of arguments that every unit makes before it changes anything. Each throws Error that
// names `unit`.
void check_selection_shape(const std::string& unit, const SelectionShape& shape);
void check_gradient(const SelectionUnit& unit, const GradientView& gradient, std::uint64_t first);
void check_range(const SelectionUnit& unit, SelectionRange range);
void check_places(const SelectionUnit& unit, std::span<const std::uint32_t> indices);
// There must be as many values as places.
void check_entries(const SelectionUnit& unit, std::span<const std::uint32_t> indices,
                   std::span<const float> values);
void check_chunks(const SelectionUnit& unit, std::uint32_t count, std::uint32_t last_count);
void check_residual(const SelectionUnit& unit, const ResidualView& view);

}  // namespace tandem::device
