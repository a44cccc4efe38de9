// SPDX-License-Identifier: Apache-2.0
//
// encode_dense: encodes a dense tensor directly into the owners' messages, as hash bitmaps.
//
// One pass: finds the non-zeros with vector instructions, computes their places under the
// partition, and writes bits and values into the messages. The result has the same bits as
// extract(), split() and encode(kBitmap). Only for narrow domains of width 1 with f32 values under
// a hashed partition; see can_encode_dense(). Threads: any, on different messages; it uses the
// threads of the given pool. Errors: std::bad_alloc. Cost: a read of the tensor and about 10 cycles
// per non-zero, partly overlapped; buffers for the shares of all threads but one.
#pragma once

#include <span>

#include "collectives/codec/codec.h"
#include "common/thread_pool.h"
#include "tensor/sparse/partition.h"

namespace tandem::collectives {

bool can_encode_dense(Domain domain, DType type, const Partition& partition);

// dense: [partition.num_units()]. messages: [num_owners], appended to. wire: f32, f16 or bf16.
// threads: may be null; used for large tensors.
void encode_dense(const float* dense, const Partition& partition, DType wire,
                  std::span<ByteBuffer> messages, ThreadPool* threads = nullptr);

}  // namespace tandem::collectives
