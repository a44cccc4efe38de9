// SPDX-License-Identifier: Apache-2.0
//
// For each mode its fibres, then the slices of every pair that ends in the mode.
#include "tensor/sparse/features/features.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <tuple>

#include "tensor/sparse/features/count_groups.h"
#include "tensor/sparse/formats/coordinate_keys.h"

namespace tandem::sparse {
namespace {

double cells_without(const CooTensor& tensor, std::span<const std::size_t> left_out) {
  std::vector<std::uint64_t> sizes;
  for (const std::size_t mode : modes_without(tensor.order(), left_out)) {
    sizes.push_back(tensor.sizes[mode]);
  }
  return num_cells(sizes);
}

// The rows of one mode: its fibres, and its slices with each mode before.
std::vector<FeatureRow> rows_of_mode(const CooTensor& tensor, std::size_t mode, ThreadPool& pool) {
  const FiberCounts fibers(tensor, mode, pool);
  std::vector<FeatureRow> rows;
  const std::array left_out{mode};
  rows.push_back({CountKind::kEntriesPerFiber,
                  {mode},
                  fibers.tally().summary(cells_without(tensor, left_out))});
  for (std::size_t other = 0; other < mode; ++other) {
    const SliceTallies slices = fibers.slices(other, pool);
    const std::array pair{other, mode};
    const double all = cells_without(tensor, pair);
    rows.push_back({CountKind::kEntriesPerSlice, {other, mode}, slices.entries.summary(all)});
    rows.push_back({CountKind::kFibersPerSlice, {other, mode}, slices.fibers.summary(all)});
  }
  return rows;
}

void add_totals_of_rows(TensorFeatures& features) {
  for (const FeatureRow& row : features.rows) {
    if (row.kind == CountKind::kEntriesPerSlice) {
      features.slices += row.counts.all;
      features.nonempty_slices += row.counts.nonempty;
    } else if (row.kind == CountKind::kEntriesPerFiber) {
      features.fibers += row.counts.all;
      features.nonempty_fibers += row.counts.nonempty;
    }
  }
  constexpr double kMost = std::numeric_limits<double>::max();
  features.slices = std::min(features.slices, kMost);
  features.fibers = std::min(features.fibers, kMost);
  if (features.slices > 0) {
    features.slice_density = static_cast<double>(features.nonempty_slices) / features.slices;
  }
  features.fiber_density = static_cast<double>(features.nonempty_fibers) / features.fibers;
}

}  // namespace

const char* count_kind_name(CountKind kind) {
  switch (kind) {
    case CountKind::kEntriesPerSlice:
      return "nonzeros_per_slice";
    case CountKind::kEntriesPerFiber:
      return "nonzeros_per_fiber";
    case CountKind::kFibersPerSlice:
      return "fibers_per_slice";
  }
  return "";
}

void complete_features(TensorFeatures& features) {
  features.density = static_cast<double>(features.num_entries) / num_cells(features.sizes);
  std::sort(features.rows.begin(), features.rows.end(),
            [](const FeatureRow& a, const FeatureRow& b) {
              return std::tie(a.kind, a.modes) < std::tie(b.kind, b.modes);
            });
  add_totals_of_rows(features);
}

TensorFeatures features_of(const CooTensor& tensor, ThreadPool& pool) {
  TensorFeatures features;
  features.sizes = tensor.sizes;
  features.num_entries = tensor.num_entries();
  std::vector<std::vector<FeatureRow>> rows(tensor.order());
  // Modes side by side, each on one thread: most of the work is counting, which has no parts.
  pool.run(tensor.order(), [&](std::size_t mode) {
    ThreadPool alone(1);
    rows[mode] = rows_of_mode(tensor, mode, alone);
  });
  for (auto& of_mode : rows) {
    std::move(of_mode.begin(), of_mode.end(), std::back_inserter(features.rows));
  }
  complete_features(features);
  return features;
}

}  // namespace tandem::sparse
