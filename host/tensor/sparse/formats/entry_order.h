// SPDX-License-Identifier: Apache-2.0
//
// The order of a tensor's entries: lexicographic, or along a space-filling curve.
//
// sum_duplicates() leaves every coordinate once, in lexicographic order (first mode slowest). Sums
// add in the order in which the entries stood, so they do not depend on the number of threads.
// Cost: a radix sort, or one pass where the entries are in order already. Threads: one caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

void sum_duplicates(CooTensor& tensor, ThreadPool& pool);

enum class EntryOrder : std::uint8_t { kLexicographic, kMorton, kHilbert };

// Sorts the entries; duplicates stay, in their order. Curves take at most 64 bits of indices
// together: throws Error for larger tensors.
void sort_entries(CooTensor& tensor, EntryOrder order, ThreadPool& pool);

// The entries at `positions`, in that order. positions: below num_entries().
CooTensor gathered(const CooTensor& tensor, std::span<const std::uint64_t> positions,
                   ThreadPool& pool);

}  // namespace tandem::sparse
