// SPDX-License-Identifier: Apache-2.0
//
// Sparse tensors with stated features, of any order.
//
// Slices of the last two modes and fibres of the last mode are meant: how many have entries, how
// many fibres a slice has, and how many entries a fibre. These three numbers and the number of
// entries are met exactly; the coefficients of variation up to rounding to integers. Positions are
// drawn without replacement. Values lie in 0.1 .. 0.9, in steps of 1e-6. Entries are in
// lexicographic order. After Torun et al., arXiv 2405.04944 (genTen).
// Cost: O(entries); 0.1 us for each on one thread. A seed gives the same tensor for any number of
// threads. Errors: Error("generate", ...) for features that contradict each other, with both
// numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

// What a caller asks for. Densities are shares of cells, fibres and slices. Absent ones are as
// chance would have them: as if every cell were filled with the same probability.
struct GeneratorOptions {
  std::vector<std::uint64_t> sizes;
  double density = 0.001;
  std::optional<double> fiber_density, slice_density;
  std::optional<double> cv_fibers, cv_entries;  // over the slices and fibres that have entries
};

// The numbers that a tensor will have.
struct TensorPlan {
  std::vector<std::uint64_t> sizes;
  std::uint64_t entries = 0, fibers = 0, slices = 0;  // fibres and slices with entries
  double cv_fibers = 0;                               // of the fibres of a slice
  double cv_entries = 0;                              // of the entries of a fibre
  std::uint64_t most_fibers = 0, most_entries = 0;    // of a slice, of a fibre
};

// Throws Error for numbers that no tensor has.
TensorPlan plan_tensor(const GeneratorOptions& options);
void check_plan(const TensorPlan& plan);

CooTensor generate_tensor(const TensorPlan& plan, std::uint64_t seed, ThreadPool& pool);

}  // namespace tandem::sparse
