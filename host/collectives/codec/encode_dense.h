// SPDX-License-Identifier: Apache-2.0
//
// encode_dense: from a dense tensor straight to the owners' messages, as hash bitmaps.
//
// One pass: non-zeros are found in vectors, their places under the partition computed, and bits and
// values written where they will be sent from. What it appends is bit for bit what split() of
// extract() and encode(kBitmap) append. Narrow domains of width 1 with f32 values, under a hashed
// partition; see can_encode_dense().
// Threads: any, on different messages; it works on those of the pool it is given. Errors:
// std::bad_alloc. Cost: a read of the tensor and about 10 cycles per non-zero, side by side in
// part; buffers for the share of all threads but one.
#pragma once

#include <span>

#include "collectives/codec/codec.h"
#include "common/thread_pool.h"
#include "tensor/sparse/partition.h"

namespace tandem::collectives {

bool can_encode_dense(Domain domain, DType type, const Partition& partition);

// dense: [partition.num_units()]. messages: [num_owners], appended to. wire: f32, f16 or bf16.
// threads: may be null; large tensors are worked on by all.
void encode_dense(const float* dense, const Partition& partition, DType wire,
                  std::span<ByteBuffer> messages, ThreadPool* threads = nullptr);

}  // namespace tandem::collectives
