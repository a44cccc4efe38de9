// SPDX-License-Identifier: Apache-2.0
//
// Generates sparse tensors of any order with given features.
//
// The features are those of the slices of the last two modes and the fibres of the last mode: the
// number of non-empty ones, the fibres per slice, and the entries per fibre. These three numbers
// and the number of entries are exact; the coefficients of variation are exact up to rounding to
// integers. Positions are drawn without replacement. Values are in 0.1 .. 0.9, in steps of 1e-6.
// Entries are in lexicographic order. Source: Torun et al., arXiv 2405.04944 (genTen). Cost: 0.1 us
// per entry on one thread. A seed gives the same tensor for any number of threads. Errors:
// Error("generate", ...) for contradicting features, with both numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

// The requested features. Densities are fractions of cells, fibres and slices. Missing features
// take the values that a uniformly random tensor would have.
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
  double cv_fibers = 0;                               // of the number of fibres per slice
  double cv_entries = 0;                              // of the number of entries per fibre
  std::uint64_t most_fibers = 0, most_entries = 0;    // per slice, per fibre
};

// Throws Error if no tensor has these numbers.
TensorPlan plan_tensor(const GeneratorOptions& options);
void check_plan(const TensorPlan& plan);

CooTensor generate_tensor(const TensorPlan& plan, std::uint64_t seed, ThreadPool& pool);

}  // namespace tandem::sparse
