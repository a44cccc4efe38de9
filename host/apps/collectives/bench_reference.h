// SPDX-License-Identifier: Apache-2.0
//
// The expected result of a reduction: every rank gathers all gradients and reduces them naively.
//
// Uses allgatherv and no scheme, merge or codec of the library. Sums are f64, or u64 for u64.
// Memory: 16 bytes and more per entry of all ranks. Collective.
#pragma once

#include <string>

#include "collectives/collective.h"

namespace tandem::apps {

// reduction: sum, mean or max. The result's type is f64, or u64 for u64 inputs.
collectives::SparseTensor reference_reduction(collectives::Group& group,
                                              const collectives::SparseTensor& own,
                                              const std::string& reduction);

// Value number `at` of a tensor of any type, as a double.
double value_at(const collectives::SparseTensor& tensor, std::size_t at);

// How far `result` differs from `expected`: the largest difference over the largest magnitude. A
// unit that only one of them has counts as zeros in the other, because schemes may drop units that
// cancel. Infinite if u64 tensors differ at all.
double relative_difference(const collectives::SparseTensor& expected,
                           const collectives::SparseTensor& result);

}  // namespace tandem::apps
