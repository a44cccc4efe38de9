// SPDX-License-Identifier: Apache-2.0
//
// Computes the expected result of a reduction: every rank gathers all gradients and adds them
// naively.
//
// Uses only allgatherv, and no scheme, merge or codec of the library. Sums are f64, or u64 for u64.
// Memory: at least 16 bytes per entry of all ranks. Collective.
#pragma once

#include <string>

#include "collectives/collective.h"

namespace tandem::apps {

// reduction: sum, mean or max. The result's type is f64, or u64 for u64 inputs.
collectives::SparseTensor reference_reduction(collectives::Group& group,
                                              const collectives::SparseTensor& own,
                                              const std::string& reduction);

// Value `at` of a tensor of any type, as a double.
double value_at(const collectives::SparseTensor& tensor, std::size_t at);

// Returns the largest difference divided by the largest magnitude. A unit that only one tensor has
// counts as zeros in the other, because schemes may drop units whose sum is zero. Returns infinity
// if u64 tensors differ at all.
double relative_difference(const collectives::SparseTensor& expected,
                           const collectives::SparseTensor& result);

}  // namespace tandem::apps
