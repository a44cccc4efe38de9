// SPDX-License-Identifier: Apache-2.0
//
// In a given time each device takes as many rows as it can, one device after the other. The least
// time in which all rows are taken is bisected.
#include "tensor/sparse/kernels/row_shares.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::sparse {
namespace {

constexpr int kBisections = 50;

double seconds_of(const RowSpeed& speed, std::uint64_t rows, std::uint64_t entries) {
  return rows == 0 ? 0
                   : speed.fixed + speed.row * static_cast<double>(rows) +
                         speed.entry * static_cast<double>(entries);
}

// The end of the rows from `first` on that the device can take in `seconds`.
std::uint64_t end_within(std::span<const std::uint64_t> begins, std::uint64_t first,
                         const RowSpeed& speed, double seconds) {
  std::uint64_t low = first, high = begins.size() - 1;
  while (low < high) {
    const std::uint64_t middle = low + (high - low + 1) / 2;
    const std::uint64_t rows = middle - first, entries = begins[middle] - begins[first];
    if (rows + entries <= speed.room && seconds_of(speed, rows, entries) <= seconds) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

std::vector<std::uint64_t> bounds_within(std::span<const std::uint64_t> begins,
                                         std::span<const RowSpeed> devices, double seconds) {
  std::vector<std::uint64_t> bounds = {0};
  for (const RowSpeed& speed : devices) {
    bounds.push_back(end_within(begins, bounds.back(), speed, seconds));
  }
  return bounds;
}

}  // namespace

std::vector<std::uint64_t> share_rows(std::span<const std::uint64_t> begins,
                                      std::span<const RowSpeed> devices) {
  TANDEM_CHECK(!begins.empty() && !devices.empty());
  const std::uint64_t rows = begins.size() - 1, entries = begins.back() - begins.front();
  // One device with room for all takes what the others leave; else each takes what it has room for.
  double low = 0, high = 0, alone = std::numeric_limits<double>::infinity();
  for (const RowSpeed& speed : devices) {
    const double seconds = seconds_of(speed, rows, entries);
    high = std::max(high, seconds);
    if (speed.room >= rows + entries) alone = std::min(alone, seconds);
  }
  high = std::min(high, alone) * (1 + 1e-9);  // the sums of a part may round upwards
  std::vector<std::uint64_t> best = bounds_within(begins, devices, high);
  if (best.back() < rows) return best;
  for (int i = 0; i < kBisections && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    std::vector<std::uint64_t> bounds = bounds_within(begins, devices, middle);
    if (bounds.back() == rows) {
      high = middle;
      best = std::move(bounds);
    } else {
      low = middle;
    }
  }
  return best;
}

double longest_share(std::span<const std::uint64_t> begins, std::span<const RowSpeed> devices,
                     std::span<const std::uint64_t> bounds) {
  double longest = 0;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    longest = std::max(longest, seconds_of(devices[d], bounds[d + 1] - bounds[d],
                                           begins[bounds[d + 1]] - begins[bounds[d]]));
  }
  return longest;
}

}  // namespace tandem::sparse
