// SPDX-License-Identifier: Apache-2.0
//
// streamed_features: the features of a tensor that does not fit into memory.
//
// The result equals that of features_of(). Every pair of modes takes a sort of all entries with the
// pair last: slices, and in them fibres, are then consecutive. Memory: about `memory` beside
// that of `entries`. Cost: order * (order - 1) / 2 sorts, at least one. Threads: one caller.
// Errors: those of ExternalOrder.
#pragma once

#include <span>

#include "tensor/sparse/features/features.h"
#include "tensor/sparse/formats/external_order.h"

namespace tandem::sparse {

// entries: of all modes in their order.
TensorFeatures streamed_features(ExternalOrder& entries, std::span<const std::uint64_t> sizes,
                                 const SortMemory& memory, ThreadPool& pool);

}  // namespace tandem::sparse
