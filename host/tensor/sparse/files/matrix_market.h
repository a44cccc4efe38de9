// SPDX-License-Identifier: Apache-2.0
//
// Reads Matrix Market coordinate files. read_chunks() calls it when a file begins with the banner.
//
// Format: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats", NISTIR 5935. Symmetric
// and skew-symmetric matrices are stored as halves; the other half is added. Threads: one caller.
// Errors: Error with path and line; also for a file with fewer entries than its header says.
#pragma once

#include <string_view>

#include "common/function_ref.h"
#include "common/thread_pool.h"
#include "tensor/sparse/files/line_blocks.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

bool is_matrix_market(std::string_view first_line);

// file: positioned before its first line, the banner. most_bytes, take: as of read_chunks().
void read_matrix_market(LineBlocks& file, std::size_t most_bytes, ThreadPool& pool,
                        FunctionRef<void(CooTensor chunk)> take);

}  // namespace tandem::sparse
