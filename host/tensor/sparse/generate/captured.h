// SPDX-License-Identifier: Apache-2.0
//
// Top-k of captured dense gradients: the pattern that sparsifying optimisers send.
//
// A capture is a file of raw little-endian f32 values without a header. Of equal magnitudes the
// lower index is kept. NaN counts as the largest magnitude, so it is always sent. Cost: one
// selection over the file. Threads: any. Errors: Error naming the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/sparse/sparse_vector.h"

namespace tandem::sparse {

std::vector<float> read_captured_gradient(const std::string& path);

// The `count` values of largest magnitude (all, if fewer). Domain: {values.size(), 1}.
SparseVector top_k(std::span<const float> values, std::size_t count);

}  // namespace tandem::sparse
