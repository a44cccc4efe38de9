// SPDX-License-Identifier: Apache-2.0
//
// Shapes of published models: sizes and supports of their gradients, as sparse collectives see
// them.
//
// Sizes and densities are published (ZEN, OSDI 2025). Row widths follow from the models'
// descriptions. The shape of the support is our assumption: rows of embeddings follow a Zipf law,
// whose exponent gives LSTM the published skew (above 70 over 128 ranges); top-k is independent.
// Threads: constants.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/sparse/generate/synthetic.h"

namespace tandem::sparse {

struct ModelShape {
  std::string_view name;
  std::string_view description;
  std::uint64_t dense_values = 0;   // gradients that are always sent by a dense all-reduce
  std::uint64_t sparse_values = 0;  // of the sparse tensor
  std::uint32_t row_values = 1;     // values of a row, which are present or absent together
  double density = 0;
  double zipf_exponent = 0;  // 0: independent uniform supports
};

std::span<const ModelShape> model_shapes();

// Throws Error listing the known names.
const ModelShape& model_shape(std::string_view name);

// The sparse tensor with 1 / scale of its rows. as_rows: units are rows of row_values; otherwise
// units are single values in runs of a row (as element-sparse libraries see an embedding).
SyntheticOptions synthetic_options(const ModelShape& shape, std::uint64_t scale, bool as_rows);

}  // namespace tandem::sparse
