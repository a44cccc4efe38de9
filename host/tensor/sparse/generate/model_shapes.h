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
  std::uint64_t dense_values = 0;   // gradients sent by a dense all-reduce in any case
  std::uint64_t sparse_values = 0;  // of the sparse tensor
  std::uint32_t row_values = 1;     // that are present or absent together
  double density = 0;
  double zipf_exponent = 0;  // 0: independent uniform supports
};

std::span<const ModelShape> model_shapes();

// Throws Error naming the known ones.
const ModelShape& model_shape(std::string_view name);

// The sparse tensor at 1 / scale of its rows. As rows: units are rows of row_values; otherwise
// units are single values in runs of a row (how element-sparse libraries see an embedding).
SyntheticOptions synthetic_options(const ModelShape& shape, std::uint64_t scale, bool as_rows);

}  // namespace tandem::sparse
