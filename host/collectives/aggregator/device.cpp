// SPDX-License-Identifier: Apache-2.0
//
// A device as aggregator: passes parts to an AggregationUnit, with merge() as fallback.
//
// Units take single values at 32-bit positions, so a row of w values is sent as w neighbouring
// positions (4 bytes more per value over the link); it comes back whole, since a part holds all of
// a row or nothing. f16 and bf16 arrive here as f32. Where the unit refuses (f64, more than
// 2^32 positions, too many entries or parts) or fails, merge() does the work, and a fallback is
// counted. A lost unit is not used again. The unit gets half of the remaining time, so that the CPU
// can still answer when a device hangs. Threads: one call at a time.
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "collectives/aggregator/aggregator.h"
#include "common/raw_vector.h"

namespace tandem::collectives {
namespace {

using Clock = std::chrono::steady_clock;

device::AggregationShape shape_of(std::span<const SparseVector> parts, Reduction reduction) {
  const Domain& domain = parts.front().domain();
  device::AggregationShape shape;
  shape.num_positions = domain.num_units * domain.width;
  shape.type = parts.front().type();
  shape.maximum = reduction == Reduction::kMax;
  shape.num_sources = parts.size();
  for (const SparseVector& part : parts) shape.num_entries += part.num_entries() * domain.width;
  return shape;
}

Deadline half_way(Deadline deadline) {
  return deadline.is_never() ? deadline : Deadline::after(deadline.remaining() / 2);
}

class DeviceAggregator final : public Aggregator {
 public:
  explicit DeviceAggregator(std::unique_ptr<device::AggregationUnit> unit)
      : unit_(std::move(unit)), name_(unit_->name()) {}

  std::string_view name() const override { return name_; }

  SparseVector aggregate(std::span<const SparseVector> parts, Reduction reduction,
                         Deadline deadline) override {
    TANDEM_CHECK(!parts.empty());
    const auto start = Clock::now();
    SparseVector out(parts.front().domain(), parts.front().type());
    if (!aggregate_on_unit(parts, reduction, deadline, out)) {
      ++statistics_.num_fallbacks;
      out = merge(parts, reduction);
    }
    ++statistics_.num_aggregations;
    for (const SparseVector& part : parts) statistics_.num_entries_in += part.num_entries();
    statistics_.num_entries_out += out.num_entries();
    statistics_.measured_seconds += std::chrono::duration<double>(Clock::now() - start).count();
    return out;
  }

  AggregatorStatistics statistics() const override { return statistics_; }

 private:
  bool aggregate_on_unit(std::span<const SparseVector> parts, Reduction reduction,
                         Deadline deadline, SparseVector& out) {
    const device::AggregationShape shape = shape_of(parts, reduction);
    if (lost_ || out.wide() || !unit_->refusal(shape).empty()) return false;
    try {
      const device::AggregationResult result =
          unit_->aggregate(shape, sources_of(parts), half_way(deadline));
      if (!take(result, out)) return false;
      statistics_.modelled_seconds += result.modelled_seconds;
      return true;
    } catch (const DeviceError&) {
      lost_ = true;
    } catch (const Error&) {  // the device has refused the part
    }
    return false;
  }

  std::span<const device::AggregationSource> sources_of(std::span<const SparseVector> parts) {
    const std::uint32_t width = parts.front().domain().width;
    sources_.clear();
    positions_.resize(width == 1 ? 0 : parts.size());
    for (std::size_t p = 0; p < parts.size(); ++p) {
      std::span<const std::uint32_t> positions = parts[p].indices<std::uint32_t>();
      if (width != 1) positions = spread(positions, width, positions_[p]);
      sources_.push_back({positions, parts[p].value_bytes(), {}});
    }
    return sources_;
  }

  static std::span<const std::uint32_t> spread(std::span<const std::uint32_t> rows,
                                               std::uint32_t width,
                                               RawVector<std::uint32_t>& positions) {
    positions.resize(rows.size() * width);
    std::uint32_t* to = positions.data();
    for (const std::uint32_t row : rows) {
      for (std::uint32_t i = 0; i < width; ++i) *to++ = row * width + i;
    }
    return positions;
  }

  // False if the positions are not distinct whole rows of the domain in ascending order. Only a
  // faulty device returns such positions.
  static bool take(const device::AggregationResult& result, SparseVector& out) {
    const std::uint32_t width = out.domain().width;
    const std::size_t rows = result.positions.size() / width;
    if (rows * width != result.positions.size() || result.values.size() != rows * out.row_bytes()) {
      return false;
    }
    out.resize(rows);
    const auto indices = out.indices<std::uint32_t>();
    std::uint64_t least = 0;  // that the next row may have
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint32_t* positions = result.positions.data() + row * width;
      const std::uint32_t index = positions[0] / width;
      if (index < least || index >= out.domain().num_units) return false;
      for (std::uint32_t i = 0; i < width; ++i) {
        if (positions[i] != index * width + i) return false;
      }
      indices[row] = index;
      least = std::uint64_t{index} + 1;
    }
    visit_type(out.type(), [&](auto zero) {
      const auto values = out.values<decltype(zero)>();
      if (rows > 0) std::memcpy(values.data(), result.values.data(), result.values.size());
    });
    return true;
  }

  std::unique_ptr<device::AggregationUnit> unit_;
  std::string name_;
  std::vector<device::AggregationSource> sources_;
  std::vector<RawVector<std::uint32_t>> positions_;  // of spread rows, per part
  AggregatorStatistics statistics_;
  bool lost_ = false;
};

}  // namespace

std::unique_ptr<Aggregator> make_device_aggregator(std::unique_ptr<device::AggregationUnit> unit) {
  TANDEM_CHECK(unit != nullptr);
  return std::make_unique<DeviceAggregator>(std::move(unit));
}

}  // namespace tandem::collectives
