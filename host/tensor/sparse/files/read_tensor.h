// SPDX-License-Identifier: Apache-2.0
//
// read_tensor: a sparse tensor from a file, plain or gzip.
//
// Matrix Market coordinate files begin with their banner: real, integer or pattern, and general,
// symmetric or skew-symmetric. All others are `.tns` text: a line for each entry, indices from 1,
// then the value. Its sizes come from a header (a line with the order, a line with the sizes), from
// the comment "# sizes 4 5 6", or are the greatest indices. Entries stay as they stand in the file,
// duplicates too; sum_duplicates() sums them. The text is held in blocks, so memory is needed for
// the entries only. Cost: 60 ns and a thread's share for an entry of order 3. Threads: one caller.
// Errors: Error("tensor", "PATH, line N: ...") for what is wrong first.
#pragma once

#include <string>

#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

CooTensor read_tensor(const std::string& path, ThreadPool& pool);

}  // namespace tandem::sparse
