// SPDX-License-Identifier: Apache-2.0
//
// encode_dense: from a dense tensor straight to the owners' messages, as hash bitmaps.
//
// One pass: finds the non-zeros in vectors, computes their places under the partition, and writes
// bits and values into the messages. The result is bit for bit that of extract(), split() and
// encode(kBitmap). Narrow domains of width 1 with f32 values, under a hashed
// partition; see can_encode_dense().
// Threads: any, on different messages; it uses the threads of the given pool. Errors:
// std::bad_alloc. Cost: a read of the tensor and about 10 cycles per non-zero, partly
// overlapped; buffers for the share of all threads but one.
#pragma once

#include <span>

#include "collectives/codec/codec.h"
#include "common/thread_pool.h"
#include "tensor/sparse/partition.h"

namespace tandem::collectives {

bool can_encode_dense(Domain domain, DType type, const Partition& partition);

// dense: [partition.num_units()]. messages: [num_owners], appended to. wire: f32, f16 or bf16.
// threads: may be null; all of them work on a large tensor.
void encode_dense(const float* dense, const Partition& partition, DType wire,
                  std::span<ByteBuffer> messages, ThreadPool* threads = nullptr);

}  // namespace tandem::collectives
