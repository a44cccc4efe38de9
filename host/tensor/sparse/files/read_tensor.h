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

#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

CooTensor read_tensor(const std::string& path, ThreadPool& pool);

}  // namespace tandem::sparse
