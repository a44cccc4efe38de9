// SPDX-License-Identifier: Apache-2.0
//
// An array where there are at most a few fibres for each entry, else sorted keys.
#include "tensor/sparse/features/count_groups.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tensor/sparse/formats/coordinate_keys.h"
#include "tensor/sparse/formats/radix_sort.h"

namespace tandem::sparse {
namespace {

// Reading this many counts costs less than sorting the keys of the entries.
constexpr double kCountsForEntry = 8;
constexpr double kSmallArray = 1 << 16;

bool is_array_cheaper(double num_fibers, std::size_t num_entries) {
  return num_fibers <= std::max(kSmallArray, kCountsForEntry * static_cast<double>(num_entries));
}

// Cells of the modes in [begin, end) without `left_out`; they fit, since the array of fibres does.
std::size_t cells_between(const CooTensor& tensor, std::size_t begin, std::size_t end,
                          std::size_t left_out) {
  std::size_t cells = 1;
  for (std::size_t mode = begin; mode < end; ++mode) {
    if (mode != left_out) cells *= tensor.sizes[mode];
  }
  return cells;
}

}  // namespace

CountSummary CountTally::summary(double all) const {
  CountSummary result;
  result.all = all;
  if (sum_ == 0) return result;
  result.nonempty = nonempty_;
  result.max = max_;
  result.min = min_;
  result.deviation = max_ - min_;
  result.sum = sum_;
  const auto describe = [&](double number, double& average, double& imbalance, double& deviation,
                            double& cv) {
    const long double mean = static_cast<long double>(sum_) / number;
    const long double variance = static_cast<long double>(squares_) / number - mean * mean;
    average = static_cast<double>(mean);
    imbalance = static_cast<double>(max_ / mean - 1);
    deviation = static_cast<double>(std::sqrt(std::max(variance, 0.0L)));
    cv = deviation / average;
  };
  const auto nonempty = static_cast<double>(nonempty_);
  result.density = nonempty / all;
  describe(all, result.average, result.imbalance, result.standard_deviation, result.cv);
  describe(nonempty, result.average_nonempty, result.imbalance_nonempty,
           result.standard_deviation_nonempty, result.cv_nonempty);
  return result;
}

FiberCounts::FiberCounts(const CooTensor& tensor, std::size_t mode, ThreadPool& pool)
    : tensor_(tensor), mode_(mode) {
  const std::array left_out{mode};
  double fibers = 1;
  for (const std::size_t each : modes_without(tensor.order(), left_out)) {
    fibers *= static_cast<double>(tensor.sizes[each]);
  }
  if (is_array_cheaper(fibers, tensor.num_entries())) {
    fibers_ = count_in_array();
  } else {
    fibers_ = count_by_sort(pool);
  }
}

FiberCounts::Array FiberCounts::count_in_array() const {
  constexpr std::size_t kBlock = 1024;
  Array counts(cells_between(tensor_, 0, tensor_.order(), mode_));
  std::fill(counts.begin(), counts.end(), 0);
  std::array<std::size_t, kBlock> cells;
  for (std::size_t begin = 0; begin < tensor_.num_entries(); begin += kBlock) {
    const std::size_t size = std::min(kBlock, tensor_.num_entries() - begin);
    std::fill_n(cells.begin(), size, 0);
    for (std::size_t mode = 0; mode < tensor_.order(); ++mode) {
      if (mode == mode_) continue;
      tensor_.indices[mode].visit([&](auto indices) {
        const std::size_t modes_size = tensor_.sizes[mode];
        for (std::size_t i = 0; i < size; ++i) {
          cells[i] = cells[i] * modes_size + indices[begin + i];
        }
      });
    }
    for (std::size_t i = 0; i < size; ++i) ++counts[cells[i]];
  }
  return counts;
}

FiberCounts::Groups FiberCounts::count_by_sort(ThreadPool& pool) const {
  const std::array left_out{mode_};
  const CoordinateKeys keys =
      coordinate_keys(tensor_, modes_without(tensor_.order(), left_out), pool);
  // Without the last mode the keys are in order already: there are no bits to sort by.
  const int bits = mode_ + 1 < tensor_.order() ? keys.bits : 0;
  const RawVector<KeyedPosition> records = sorted_positions(keys.keys, bits, pool);
  Groups groups;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (i > 0 && records[i].key == records[i - 1].key) {
      ++groups.counts.back();
    } else {
      groups.positions.push_back(records[i].position);
      groups.counts.push_back(1);
    }
  }
  return groups;
}

CountTally FiberCounts::tally() const {
  CountTally tally;
  if (const Array* counts = std::get_if<Array>(&fibers_)) {
    for (const std::uint32_t count : *counts) tally.add(count);
  } else {
    for (const std::uint64_t count : std::get<Groups>(fibers_).counts) tally.add(count);
  }
  return tally;
}

SliceTallies FiberCounts::slices(std::size_t other, ThreadPool& pool) const {
  if (const Array* counts = std::get_if<Array>(&fibers_)) return slices_of_array(*counts, other);
  return slices_of_groups(std::get<Groups>(fibers_), other, pool);
}

// The fibres are [outer, sizes[other], inner]; slices are [outer, inner].
SliceTallies FiberCounts::slices_of_array(const Array& counts, std::size_t other) const {
  const std::size_t outer = cells_between(tensor_, 0, other, mode_);
  const std::size_t inner = cells_between(tensor_, other + 1, tensor_.order(), mode_);
  RawVector<std::uint64_t> entries(inner), fibers(inner);
  SliceTallies tallies;
  const std::uint32_t* from = counts.data();
  for (std::size_t block = 0; block < outer; ++block) {
    std::fill(entries.begin(), entries.end(), 0);
    std::fill(fibers.begin(), fibers.end(), 0);
    for (std::uint64_t index = 0; index < tensor_.sizes[other]; ++index, from += inner) {
      for (std::size_t i = 0; i < inner; ++i) {
        entries[i] += from[i];
        fibers[i] += from[i] != 0 ? 1 : 0;
      }
    }
    for (std::size_t i = 0; i < inner; ++i) {
      tallies.entries.add(entries[i]);
      tallies.fibers.add(fibers[i]);
    }
  }
  return tallies;
}

SliceTallies FiberCounts::slices_of_groups(const Groups& groups, std::size_t other,
                                           ThreadPool& pool) const {
  const std::array left_out{other, mode_};
  const CoordinateKeys keys =
      coordinate_keys_at(tensor_, modes_without(tensor_.order(), left_out), groups.positions, pool);
  const RawVector<KeyedPosition> records = sorted_positions(keys.keys, keys.bits, pool);
  SliceTallies tallies;
  for (std::size_t begin = 0; begin < records.size();) {
    std::uint64_t entries = 0;
    std::size_t end = begin;
    for (; end < records.size() && records[end].key == records[begin].key; ++end) {
      entries += groups.counts[records[end].position];
    }
    tallies.entries.add(entries);
    tallies.fibers.add(end - begin);
    begin = end;
  }
  return tallies;
}

}  // namespace tandem::sparse
