// SPDX-License-Identifier: Apache-2.0
//
// The order of a tensor's entries: lexicographic, or along a space-filling curve.
//
// sum_duplicates() sums repeated coordinates and leaves lexicographic order (first mode slowest).
// Values are added in the order of the entries, so sums do not depend on the number of threads.
// Cost: a radix sort, or one pass if the entries are already in order. Threads: one caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

void sum_duplicates(CooTensor& tensor, ThreadPool& pool);

enum class EntryOrder : std::uint8_t { kLexicographic, kMorton, kHilbert };

// Sorts the entries; duplicates stay, in their order. Throws Error for a curve over a tensor whose
// indices have more than 64 bits together.
void sort_entries(CooTensor& tensor, EntryOrder order, ThreadPool& pool);

// The entries at `positions`, in that order. positions: below num_entries().
CooTensor gathered(const CooTensor& tensor, std::span<const std::uint64_t> positions,
                   ThreadPool& pool);

}  // namespace tandem::sparse
