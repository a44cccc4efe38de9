// SPDX-License-Identifier: Apache-2.0
//
// The residual in a device's memory: questions go to its selection unit, and only entries and
// numbers come back.
#include <algorithm>
#include <cmath>
#include <limits>

#include "collectives/sparsifier/residual_store.h"

namespace tandem::collectives {
namespace {

using device::GradientMoments;
using device::SelectedEntries;
using device::SelectionRange;

Moments moments_of(const GradientMoments& from) {
  Moments moments;
  moments.sum = from.sum;
  moments.signed_sum = from.signed_sum;
  moments.squares = from.squares;
  moments.log_sum = from.log_sum;
  moments.positive = from.positive;
  moments.count = from.count;
  moments.largest = from.largest;
  return moments;
}

// The queries of a store and its candidates.
struct Asked {
  device::SelectionUnit& unit;
  std::chrono::milliseconds timeout;
  std::uint64_t& values_read;

  Deadline deadline() const { return Deadline::after(timeout); }
};

// Counts and sums are taken on the device; entries that are asked for, no others, become
// candidates.
class DeviceCandidates final : public Candidates {
 public:
  DeviceCandidates(std::uint64_t begin, std::uint64_t end, const Asked& asked)
      : Candidates(begin, end), asked_(asked) {}

  void expect(float, float) override {}

  Indices top(std::uint64_t count) override {
    const SelectedEntries found = top_entries(count);
    return {found.indices.begin(), found.indices.end()};
  }

 protected:
  void take(float floor) override {
    count_pass();
    keep(asked_.unit.at_least({begin_, end_}, floor, asked_.deadline()));
    floor_ = floor;
    all_reach_floor_ = true;
  }

  // Others may equal the smallest, so the floor is above it.
  void take_top(std::uint64_t count) override {
    keep(top_entries(count));
    all_reach_floor_ = magnitudes_.size() < count;
    floor_ = all_reach_floor_ ? 0
                              : std::nextafter(*std::ranges::min_element(magnitudes_),
                                               std::numeric_limits<float>::infinity());
  }

  std::optional<std::uint64_t> count_in_place(float threshold) override {
    count_pass();
    const float thresholds[] = {threshold};
    return asked_.unit.counts_at_least({begin_, end_}, thresholds, asked_.deadline()).front();
  }

  std::optional<Survivors> survivors_in_place(float threshold) override {
    count_pass();
    const GradientMoments found =
        asked_.unit.moments_at_least({begin_, end_}, threshold, false, asked_.deadline());
    return Survivors{moments_of(found), found.smallest};
  }

 private:
  void count_pass() { asked_.values_read += num_values(); }

  SelectedEntries top_entries(std::uint64_t count) {
    count_pass();
    return asked_.unit.top({begin_, end_}, std::min(count, num_values()), asked_.deadline());
  }

  void keep(const SelectedEntries& entries) {
    collected_ = true;
    indices_.assign(entries.indices.begin(), entries.indices.end());
    magnitudes_.resize(entries.values.size());
    std::ranges::transform(entries.values, magnitudes_.begin(),
                           [](float value) { return std::fabs(value); });
  }

  const Asked asked_;
};

class DeviceResidual final : public ResidualStore {
 public:
  DeviceResidual(DeviceResidence device, std::chrono::milliseconds timeout)
      : unit_(std::move(device.unit)), memory_(std::move(device.memory)), timeout_(timeout) {}

  std::uint64_t size() const override { return unit_->shape().num_values; }

  std::optional<std::uint64_t> first_non_finite(GradientPieces gradient) override {
    std::uint64_t begin = 0;
    for (const device::GradientView& piece : gradient) {
      const GradientMoments found = memory_->measure(piece, deadline());
      if (found.first_non_finite) return begin + *found.first_non_finite;
      begin += count_of(piece);
    }
    return std::nullopt;
  }

  GradientSize size_of(GradientPieces gradient) override {
    GradientSize size;
    for (const device::GradientView& piece : gradient) {
      const GradientMoments found = memory_->measure(piece, deadline());
      size.squares += found.squares;
      size.largest = std::max(size.largest, found.largest);
    }
    return size;
  }

  Moments add(GradientPieces gradient, const device::AccumulateStep& step,
              Measured measured) override {
    device::AccumulateStep each = step;
    each.logarithms = measured == Measured::kLogarithms;
    Moments total;
    for (const device::GradientView& piece : gradient) {
      total.add(moments_of(unit_->accumulate(piece, each, deadline())));
      each.first += count_of(piece);
    }
    return total;
  }

  std::vector<double> add_fragments(GradientPieces gradient, const device::AccumulateStep& step,
                                    std::span<const Fragment> fragments) override {
    add(gradient, step, Measured::kNothing);
    std::vector<SelectionRange> ranges;
    for (const Fragment& fragment : fragments) ranges.push_back({fragment.begin, fragment.end});
    return unit_->squares(ranges, deadline());
  }

  std::unique_ptr<Candidates> candidates(std::uint64_t begin, std::uint64_t end) override {
    return std::make_unique<DeviceCandidates>(begin, end, Asked{*unit_, timeout_, values_read_});
  }

  Indices find_at_least(float threshold) override {
    values_read_ += size();
    const SelectedEntries found = unit_->at_least({0, size()}, threshold, deadline());
    return {found.indices.begin(), found.indices.end()};
  }

  std::vector<float> at(std::span<const std::uint32_t> places) override {
    values_read_ += places.size();
    const std::span<const float> found = unit_->values_at(places, deadline());
    return {found.begin(), found.end()};
  }

  PackedBytes pack_chunks(std::uint32_t count, std::uint32_t last_count) override {
    values_read_ += size();
    const auto message = unit_->pack_chunks(count, last_count, deadline());
    return {message.begin(), message.end()};
  }

  double sum_of_squares() override {
    return unit_->moments_at_least({0, size()}, 0, false, deadline()).squares;
  }

  void clear_at(const Indices& places) override { unit_->clear_at(places, deadline()); }

  void add_at(const Indices& places, std::span<const float> values) override {
    unit_->add_at(places, values, deadline());
  }

  void save(SparsifierState& state) override {
    RawVector<float>& residual = state.tensors["residual"];
    residual.resize(size());
    std::span<float> velocity;
    if (unit_->shape().velocity) {
      state.tensors["velocity"].resize(size());
      velocity = state.tensors["velocity"];
    }
    unit_->save({residual, velocity}, deadline());
  }

  void load(const SparsifierState& state) override {
    RawVector<float> residual = tensor_of(state, "residual");
    RawVector<float> velocity;
    if (unit_->shape().velocity) velocity = tensor_of(state, "velocity");
    unit_->load({residual, velocity}, deadline());
  }

 private:
  Deadline deadline() const { return Deadline::after(timeout_); }

  static std::uint64_t count_of(const device::GradientView& piece) {
    return piece.values.size() / dtype_block_bytes(piece.type);
  }

  const std::unique_ptr<device::SelectionUnit> unit_;
  const std::shared_ptr<device::GradientMemory> memory_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace

std::unique_ptr<ResidualStore> make_device_residual(DeviceResidence device,
                                                    std::chrono::milliseconds timeout) {
  return std::make_unique<DeviceResidual>(std::move(device), timeout);
}

}  // namespace tandem::collectives
