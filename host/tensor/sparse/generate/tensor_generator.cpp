// SPDX-License-Identifier: Apache-2.0
//
// Draws slices, then their fibres, then the entries of these. Each step draws for the blocks of the
// previous step, with random numbers per block.
#include "tensor/sparse/generate/tensor_generator.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tensor/sparse/generate/count_draws.h"
#include "tensor/sparse/generate/plan_shape.h"
#include "tensor/sparse/generate/random_subset.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kBlockHolders = 1 << 12;

enum Stream : std::uint64_t { kSlices = 1, kFiberCounts, kFibers, kEntryCounts, kEntries };

std::vector<std::uint64_t> begins_of_counts(const std::vector<std::uint32_t>& counts) {
  std::vector<std::uint64_t> begins{0};
  begins.reserve(counts.size() + 1);
  for (const std::uint32_t count : counts) begins.push_back(begins.back() + count);
  return begins;
}

// Draws begins[h + 1] - begins[h] distinct places below `population` for each holder h, and calls
// body(holder, number of the place, place, random) for each. The places of a holder ascend.
template <typename Body>
void draw_places(const std::vector<std::uint64_t>& begins, std::uint64_t population,
                 std::uint64_t seed, ThreadPool& pool, const Body& body) {
  const std::size_t holders = begins.size() - 1;
  const std::size_t blocks = (holders + kBlockHolders - 1) / kBlockHolders;
  pool.run(blocks, [&](std::size_t block) {
    Random random(mix(seed, block));
    std::vector<std::uint64_t> places;
    const std::size_t end = std::min((block + 1) * kBlockHolders, holders);
    for (std::size_t holder = block * kBlockHolders; holder < end; ++holder) {
      places.clear();
      append_subset(0, population, begins[holder + 1] - begins[holder], random, places);
      for (std::size_t i = 0; i < places.size(); ++i) {
        body(holder, begins[holder] + i, places[i], random);
      }
    }
  });
}

// Where slices lie: the indices of the modes before the last two.
class SliceIndex {
 public:
  explicit SliceIndex(const std::vector<std::uint64_t>& sizes)
      : sizes_(sizes), modes_(sizes.size() < 2 ? 0 : sizes.size() - 2) {}

  void store(std::uint64_t slice, std::size_t entry, CooTensor& to) const {
    for (std::size_t mode = modes_; mode-- > 0;) {
      to.indices[mode].set(entry, slice % sizes_[mode]);
      slice /= sizes_[mode];
    }
  }

 private:
  const std::vector<std::uint64_t>& sizes_;
  std::size_t modes_;
};

double drawn_value(Random& random) {
  return static_cast<double>(100000 + random.below(800001)) / 1e6;
}

}  // namespace

CooTensor generate_tensor(const TensorPlan& plan, std::uint64_t seed, ThreadPool& pool) {
  check_plan(plan);
  const PlanShape shape = shape_of_plan(plan.sizes);
  CooTensor tensor(plan.sizes);
  tensor.resize(plan.entries);
  if (plan.entries == 0) return tensor;

  std::vector<std::uint64_t> slices;
  Random slice_random(mix(seed, kSlices));
  append_subset(0, shape.all_slices, plan.slices, slice_random, slices);

  const std::vector<std::uint64_t> fiber_begins = begins_of_counts(draw_counts(
      {plan.slices, plan.fibers, std::min(plan.most_fibers, shape.slice_fibers), plan.cv_fibers},
      mix(seed, kFiberCounts), pool));
  std::vector<std::uint64_t> slice_of_fiber(plan.fibers), place_of_fiber(plan.fibers);
  draw_places(fiber_begins, shape.slice_fibers, mix(seed, kFibers), pool,
              [&](std::size_t slice, std::uint64_t fiber, std::uint64_t place, Random&) {
                slice_of_fiber[fiber] = slices[slice];
                place_of_fiber[fiber] = place;
              });

  const std::vector<std::uint64_t> entry_begins = begins_of_counts(draw_counts(
      {plan.fibers, plan.entries, std::min(plan.most_entries, shape.fiber_size), plan.cv_entries},
      mix(seed, kEntryCounts), pool));
  const SliceIndex slice_index(plan.sizes);
  const std::size_t order = tensor.order();
  draw_places(entry_begins, shape.fiber_size, mix(seed, kEntries), pool,
              [&](std::size_t fiber, std::uint64_t entry, std::uint64_t place, Random& random) {
                slice_index.store(slice_of_fiber[fiber], entry, tensor);
                if (order > 1) tensor.indices[order - 2].set(entry, place_of_fiber[fiber]);
                tensor.indices[order - 1].set(entry, place);
                tensor.values[entry] = drawn_value(random);
              });
  return tensor;
}

}  // namespace tandem::sparse
