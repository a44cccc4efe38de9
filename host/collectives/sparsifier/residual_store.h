// SPDX-License-Identifier: Apache-2.0
//
// ResidualStore: the accumulated gradient of a sparsifier, in host memory or in a device's.
// Algorithms use this contract, so each is written once.
//
// Accumulated = residual (what earlier steps did not send) + the gradient of the step, f32.
// Numerics: places, counts and order are the same from every store. Sums are in f64, in an order
// that the store chooses. They agree to about 1e-12 of the sum of magnitudes, and exactly if no
// addition rounds. Errors: Error for a gradient that the store does not accept; DeviceError if the
// device fails. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "collectives/sparsifier/candidates.h"
#include "collectives/sparsifier/deft_plan.h"
#include "collectives/sparsifier/sparsifier.h"
#include "common/raw_vector.h"
#include "device/selection_unit.h"

namespace tandem::collectives {

enum class Measured : std::uint8_t { kNothing, kMoments, kLogarithms };

using PackedBytes = RawVector<std::byte>;

// Measures over the finite values of a gradient.
struct GradientSize {
  double squares = 0;
  float largest = 0;  // magnitude
};

class ResidualStore {
 public:
  virtual ~ResidualStore() = default;
  virtual std::uint64_t size() const = 0;

  // The pieces of a gradient have size() values together.
  virtual std::optional<std::uint64_t> first_non_finite(GradientPieces gradient) = 0;
  virtual GradientSize size_of(GradientPieces gradient) = 0;
  // Does the same as device::SelectionUnit::accumulate(). Returns the requested moments of the
  // accumulated values.
  virtual Moments add(GradientPieces gradient, const device::AccumulateStep& step,
                      Measured measured) = 0;
  // The same; also returns the sum of squares of each fragment. Fragments cover all values.
  virtual std::vector<double> add_fragments(GradientPieces gradient,
                                            const device::AccumulateStep& step,
                                            std::span<const Fragment> fragments) = 0;

  // The candidates among the accumulated values in [begin, end).
  virtual std::unique_ptr<Candidates> candidates(std::uint64_t begin, std::uint64_t end) = 0;
  virtual Indices find_at_least(float threshold) = 0;
  virtual std::vector<float> at(std::span<const std::uint32_t> places) = 0;
  // The message of chunk_topk (tensor/sparse/packed_chunk.h), chunk after chunk.
  virtual PackedBytes pack_chunks(std::uint32_t count, std::uint32_t last_count) = 0;

  virtual double sum_of_squares() = 0;

  // Clears values and, at the same places, the velocity. Places are unique.
  virtual void clear_at(const Indices& places) = 0;
  virtual void add_at(const Indices& places, std::span<const float> values) = 0;

  virtual void save(SparsifierState& state) = 0;
  // Throws Error, and changes nothing, if the state lacks a tensor.
  virtual void load(const SparsifierState& state) = 0;

  std::unique_ptr<Candidates> candidates() { return candidates(0, size()); }
  // The number of values that were read for all questions so far.
  std::uint64_t values_read() const { return values_read_; }

 protected:
  std::uint64_t values_read_ = 0;
};

// threads may be null. velocity: for momentum correction.
std::unique_ptr<ResidualStore> make_host_residual(std::uint64_t num_values, bool velocity,
                                                  ThreadPool* threads);
// timeout: for each call of the device.
std::unique_ptr<ResidualStore> make_device_residual(DeviceResidence device,
                                                    std::chrono::milliseconds timeout);

// A tensor of a state. Throws Error naming it if it is missing or has the wrong length.
const RawVector<float>& tensor_of(const SparsifierState& state, const std::string& field);

}  // namespace tandem::collectives
