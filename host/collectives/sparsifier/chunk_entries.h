// SPDX-License-Identifier: Apache-2.0
//
// The largest entries of every chunk of 4,096 values, packed: the message of the algorithm
// chunk_topk.
//
// Of equal magnitudes the entry at the lower place is taken. Cost: one read; a partial sort of each
// chunk. Ownership: borrows the values and the threads.
#pragma once

#include <cstdint>
#include <span>

#include "common/raw_vector.h"
#include "common/thread_pool.h"

namespace tandem::collectives {

// `count` entries of a whole chunk, `last_count` of the last one (the same if it is whole).
RawVector<std::byte> pack_largest_of_chunks(std::span<const float> values, std::uint32_t count,
                                            std::uint32_t last_count, ThreadPool* threads);

}  // namespace tandem::collectives
