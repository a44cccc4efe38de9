// SPDX-License-Identifier: Apache-2.0
//
// Simple loops. Magnitudes are compared as floats, so a NaN is never large.
#include "cpu/selection_unit.h"

#include <algorithm>
#include <cmath>

#include "cpu/gradient_memory.h"
#include "tensor/sparse/packed_chunk.h"

namespace tandem::device::cpu {
namespace {

class CpuSelectionUnit final : public SelectionUnit {
 public:
  explicit CpuSelectionUnit(const SelectionShape& shape)
      : shape_(shape),
        residual_(static_cast<std::size_t>(shape.num_values), 0.0f),
        velocity_(shape.velocity ? residual_.size() : 0, 0.0f) {}

  std::string name() const override { return "cpu"; }
  SelectionShape shape() const override { return shape_; }

  GradientMoments accumulate(const GradientView& gradient, const AccumulateStep& step,
                             Deadline) override {
    check_gradient(*this, gradient, step.first);
    const std::size_t count = gradient.values.size() / dtype_block_bytes(gradient.type);
    const auto first = static_cast<std::size_t>(step.first);
    GradientMoments moments;
    for (std::size_t i = 0; i < count; ++i) {
      float value = value_at(gradient, i);
      if (step.clip_at) {
        value = std::isnan(value) ? 0.0f : std::clamp(value, -*step.clip_at, *step.clip_at);
      }
      if (shape_.velocity) {
        float& velocity = velocity_[first + i];
        value = velocity = step.momentum * velocity + step.scale * value;
      }
      float& residual = residual_[first + i];
      residual = step.decay * residual + value;
      take(moments, residual, i, step.logarithms);
    }
    return moments;
  }

  GradientMoments moments_at_least(SelectionRange range, float threshold, bool logarithms,
                                   Deadline) override {
    check_range(*this, range);
    GradientMoments moments;
    for (std::uint64_t i = range.begin; i < range.end; ++i) {
      const float value = residual_[i];
      if (std::isfinite(value) && !(std::fabs(value) >= threshold)) continue;
      take(moments, value, i - range.begin, logarithms);
    }
    return moments;
  }

  std::vector<double> squares(std::span<const SelectionRange> ranges, Deadline deadline) override {
    std::vector<double> sums;
    for (const SelectionRange& range : ranges) {
      sums.push_back(moments_at_least(range, 0, false, deadline).squares);
    }
    return sums;
  }

  std::vector<std::uint64_t> counts_at_least(SelectionRange range,
                                             std::span<const float> thresholds, Deadline) override {
    check_range(*this, range);
    std::vector<std::uint64_t> counts(thresholds.size());
    for (std::uint64_t i = range.begin; i < range.end; ++i) {
      for (std::size_t t = 0; t < counts.size(); ++t) {
        counts[t] += std::fabs(residual_[i]) >= thresholds[t] ? 1 : 0;
      }
    }
    return counts;
  }

  SelectedEntries at_least(SelectionRange range, float threshold, Deadline) override {
    check_range(*this, range);
    indices_.clear();
    for (std::uint64_t i = range.begin; i < range.end; ++i) {
      if (std::fabs(residual_[i]) >= threshold) indices_.push_back(static_cast<std::uint32_t>(i));
    }
    return entries();
  }

  SelectedEntries top(SelectionRange range, std::uint64_t count, Deadline) override {
    check_range(*this, range);
    indices_.clear();
    for (std::uint64_t i = range.begin; i < range.end; ++i) {
      if (!std::isnan(residual_[i])) indices_.push_back(static_cast<std::uint32_t>(i));
    }
    const auto precedes = [&](std::uint32_t a, std::uint32_t b) {
      const float x = std::fabs(residual_[a]), y = std::fabs(residual_[b]);
      return x != y ? x > y : a < b;
    };
    if (count < indices_.size()) {
      const auto end = indices_.begin() + static_cast<std::ptrdiff_t>(count);
      std::nth_element(indices_.begin(), end, indices_.end(), precedes);
      indices_.resize(static_cast<std::size_t>(count));
      std::ranges::sort(indices_);
    }
    return entries();
  }

  std::span<const float> values_at(std::span<const std::uint32_t> indices, Deadline) override {
    check_places(*this, indices);
    values_.clear();
    for (const std::uint32_t index : indices) values_.push_back(residual_[index]);
    return values_;
  }

  std::span<const std::byte> pack_chunks(std::uint32_t count, std::uint32_t last_count,
                                         Deadline deadline) override {
    check_chunks(*this, count, last_count);
    message_.clear();
    for (std::uint64_t begin = 0; begin < shape_.num_values; begin += sparse::kPackedChunkValues) {
      const std::uint64_t end = std::min(begin + sparse::kPackedChunkValues, shape_.num_values);
      const SelectedEntries large =
          top({begin, end}, end == shape_.num_values ? last_count : count, deadline);
      std::vector<std::uint16_t> places;
      for (const std::uint32_t index : large.indices) {
        places.push_back(static_cast<std::uint16_t>(index - begin));
      }
      const std::size_t at = message_.size();
      message_.resize(at + sparse::packed_chunk_bytes(places.size()));
      sparse::pack_chunk(places, large.values, std::span(message_).subspan(at));
    }
    return message_;
  }

  void clear_at(std::span<const std::uint32_t> indices, Deadline) override {
    check_places(*this, indices);
    for (const std::uint32_t index : indices) {
      residual_[index] = 0;
      if (shape_.velocity) velocity_[index] = 0;
    }
  }

  void add_at(std::span<const std::uint32_t> indices, std::span<const float> values,
              Deadline) override {
    check_entries(*this, indices, values);
    for (std::size_t i = 0; i < indices.size(); ++i) residual_[indices[i]] += values[i];
  }

  void save(const ResidualView& to, Deadline) override {
    check_residual(*this, to);
    std::ranges::copy(residual_, to.residual.begin());
    std::ranges::copy(velocity_, to.velocity.begin());
  }

  void load(const ResidualView& from, Deadline) override {
    check_residual(*this, from);
    std::ranges::copy(from.residual, residual_.begin());
    std::ranges::copy(from.velocity, velocity_.begin());
  }

 private:
  SelectedEntries entries() {
    values_.clear();
    for (const std::uint32_t index : indices_) values_.push_back(residual_[index]);
    return {indices_, values_};
  }

  const SelectionShape shape_;
  std::vector<float> residual_, velocity_, values_;
  std::vector<std::uint32_t> indices_;
  std::vector<std::byte> message_;
};

}  // namespace

std::unique_ptr<SelectionUnit> make_selection_unit(const SelectionShape& shape) {
  check_selection_shape("cpu", shape);
  return std::make_unique<CpuSelectionUnit>(shape);
}

}  // namespace tandem::device::cpu
