// SPDX-License-Identifier: Apache-2.0
//
// A picture that shows where a tensor's entries are in two of its modes.
//
// The plane of the two modes is divided into at most rows x columns equal fields. Each field counts
// its entries, over all indices of the other modes. A small mode has one field per index. In text a
// field is one of ten characters, in SVG a grey square; both darken with the logarithm of the
// count. Cost: one pass over the entries. Threads: one caller.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

struct SpyPlot {
  std::size_t row_mode = 0, column_mode = 0;
  std::uint64_t row_size = 0, column_size = 0;  // of the modes
  std::size_t rows = 0, columns = 0;            // fields
  std::vector<std::uint64_t> counts;            // [rows, columns]

  std::uint64_t max() const;
};

// Throws Error for a mode that the tensor does not have. The modes may be equal (a diagonal).
SpyPlot spy(const CooTensor& tensor, std::size_t row_mode, std::size_t column_mode,
            std::size_t most_rows, std::size_t most_columns);

std::string spy_text(const SpyPlot& plot);
std::string spy_svg(const SpyPlot& plot);

}  // namespace tandem::sparse
