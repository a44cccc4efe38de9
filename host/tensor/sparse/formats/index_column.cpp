// SPDX-License-Identifier: Apache-2.0
//
// Widening copies a column once, when the first index of 2^32 or more arrives.
#include "tensor/sparse/formats/index_column.h"

#include <limits>

namespace tandem::sparse {

void IndexColumn::resize(std::size_t size, std::uint64_t greatest) {
  if (!is_wide_ && greatest > std::numeric_limits<std::uint32_t>::max()) {
    wide_.assign(narrow_.begin(), narrow_.end());
    narrow_ = {};
    is_wide_ = true;
  }
  if (is_wide_) {
    wide_.resize(size);
  } else {
    narrow_.resize(size);
  }
}

bool IndexColumn::operator==(const IndexColumn& other) const {
  if (size() != other.size()) return false;
  for (std::size_t entry = 0; entry < size(); ++entry) {
    if ((*this)[entry] != other[entry]) return false;
  }
  return true;
}

}  // namespace tandem::sparse
