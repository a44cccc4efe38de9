// SPDX-License-Identifier: Apache-2.0
//
// Matrix Market coordinate files: read_tensor() hands them on once it has seen the banner.
//
// Format: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats", NISTIR 5935. Stored
// halves of symmetric and skew-symmetric matrices are completed. Threads: one caller. Errors: Error
// with path and line; a file with fewer entries than its header says is cut off.
#pragma once

#include <string_view>

#include "common/thread_pool.h"
#include "tensor/sparse/files/line_blocks.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

bool is_matrix_market(std::string_view first_line);

// file: before its first line, which is the banner.
CooTensor read_matrix_market(LineBlocks& file, ThreadPool& pool);

}  // namespace tandem::sparse
