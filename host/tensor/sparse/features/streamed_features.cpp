// SPDX-License-Identifier: Apache-2.0
//
// Counts consecutive entries with equal leading modes.
#include "tensor/sparse/features/streamed_features.h"

#include <algorithm>
#include <array>

#include "tensor/sparse/features/count_groups.h"
#include "tensor/sparse/formats/coordinate_keys.h"

namespace tandem::sparse {
namespace {

// Fibres along the last mode, slices along the last two, of sorted entries.
class GroupCounter {
 public:
  explicit GroupCounter(std::size_t order) : order_(order), last_(order) {}

  void add(const CooTensor& chunk) {
    for (std::size_t i = 0; i < chunk.num_entries(); ++i) {
      const std::size_t equal = num_equal(chunk, i);
      if (!is_first_ && equal + 1 < order_) end_fiber();
      if (!is_first_ && equal + 2 < order_) end_slice();
      is_first_ = false;
      ++of_fiber_;
      ++of_slice_;
    }
  }
  void finish() {
    end_fiber();
    end_slice();
  }

  CountTally fibers;
  SliceTallies slices;

 private:
  // Leading modes that entry i shares with the one before; takes entry i as the last one.
  std::size_t num_equal(const CooTensor& chunk, std::size_t i) {
    std::size_t equal = 0;
    bool is_equal = true;
    for (std::size_t mode = 0; mode < order_; ++mode) {
      const std::uint64_t index = chunk.indices[mode][i];
      is_equal &= index == last_[mode];
      equal += is_equal ? 1 : 0;
      last_[mode] = index;
    }
    return equal;
  }
  void end_fiber() {
    fibers.add(of_fiber_);
    fibers_of_slice_ += of_fiber_ > 0 ? 1 : 0;
    of_fiber_ = 0;
  }
  void end_slice() {
    slices.entries.add(of_slice_);
    slices.fibers.add(fibers_of_slice_);
    of_slice_ = fibers_of_slice_ = 0;
  }

  std::size_t order_;
  std::vector<std::uint64_t> last_;
  bool is_first_ = true;
  std::uint64_t of_fiber_ = 0, of_slice_ = 0, fibers_of_slice_ = 0;
};

double cells_beside(std::span<const std::uint64_t> sizes, std::span<const std::size_t> left_out) {
  std::vector<std::uint64_t> kept;
  for (const std::size_t mode : modes_without(sizes.size(), left_out)) kept.push_back(sizes[mode]);
  return num_cells(kept);
}

}  // namespace

TensorFeatures streamed_features(ExternalOrder& entries, std::span<const std::uint64_t> sizes,
                                 const SortMemory& memory, ThreadPool& pool) {
  const std::size_t order = sizes.size();
  TensorFeatures features;
  features.sizes.assign(sizes.begin(), sizes.end());
  entries.visit([&](const CooTensor& chunk) { features.num_entries += chunk.num_entries(); });
  const auto count = [&](std::span<const std::size_t> last) {
    std::vector<std::size_t> modes = modes_without(order, last);
    modes.insert(modes.end(), last.begin(), last.end());
    ExternalOrder sorted(modes, memory, pool);
    entries.visit([&](const CooTensor& chunk) { sorted.add(chunk); });
    GroupCounter counter(order);
    sorted.visit([&](const CooTensor& chunk) { counter.add(chunk); });
    counter.finish();
    return counter;
  };
  const auto add_fibers = [&](std::size_t mode, const CountTally& fibers) {
    const std::array left_out{mode};
    features.rows.push_back(
        {CountKind::kEntriesPerFiber, {mode}, fibers.summary(cells_beside(sizes, left_out))});
  };
  add_fibers(0, count(std::array<std::size_t, 1>{0}).fibers);
  for (std::size_t mode = 1; mode < order; ++mode) {
    for (std::size_t other = 0; other < mode; ++other) {
      const std::array pair{other, mode};
      const GroupCounter counter = count(pair);
      const double all = cells_beside(sizes, pair);
      if (other == 0) add_fibers(mode, counter.fibers);
      features.rows.push_back(
          {CountKind::kEntriesPerSlice, {other, mode}, counter.slices.entries.summary(all)});
      features.rows.push_back(
          {CountKind::kFibersPerSlice, {other, mode}, counter.slices.fibers.summary(all)});
    }
  }
  complete_features(features);
  return features;
}

}  // namespace tandem::sparse
