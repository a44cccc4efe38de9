// SPDX-License-Identifier: Apache-2.0
//
// read_tensor: a sparse tensor from a file, plain or gzip.
//
// Files that begin with the Matrix Market banner are coordinate files: real, integer or pattern,
// and general, symmetric or skew-symmetric. All others are `.tns` text: one line per entry, indices
// from 1, then the value. The sizes come from a header (a line with the order, a line with the
// sizes) or from the comment "# sizes 4 5 6"; otherwise they are the greatest indices. Entries keep
// their order, also duplicates; sum_duplicates() sums them. The text is read in blocks, so only the
// entries need memory. Cost: 60 ns per entry of order 3, divided by the threads. Threads: one
// caller. Errors: Error("tensor", "PATH, line N: ...") for the first wrong line.
#pragma once

#include <string>

#include "common/function_ref.h"
#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

CooTensor read_tensor(const std::string& path, ThreadPool& pool);

// Passes the entries on in chunks of little more than `most_bytes`, in their order; at least one
// chunk, the last of which has the tensor's sizes. The second halves of a symmetric matrix are in
// the chunk of their first halves.
void read_chunks(const std::string& path, std::size_t most_bytes, ThreadPool& pool,
                 FunctionRef<void(CooTensor chunk)> take);

}  // namespace tandem::sparse
