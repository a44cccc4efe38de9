// SPDX-License-Identifier: Apache-2.0
//
// The constructor's checks and simple functions.
#include "tensor/sparse/formats/coo_tensor.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "common/error.h"

namespace tandem::sparse {

CooTensor::CooTensor(std::vector<std::uint64_t> mode_sizes) : sizes(std::move(mode_sizes)) {
  if (sizes.empty() || sizes.size() > kMaxOrder) {
    throw Error("tensor", "a tensor has 1 to " + std::to_string(kMaxOrder) + " modes, not " +
                              std::to_string(sizes.size()));
  }
  for (std::size_t mode = 0; mode < sizes.size(); ++mode) {
    if (sizes[mode] == 0) {
      throw Error("tensor", "mode " + std::to_string(mode) + " has size 0; sizes begin at 1");
    }
  }
  indices.resize(sizes.size());
}

std::size_t CooTensor::size_bytes() const {
  std::size_t bytes = values.size() * sizeof(double);
  for (const IndexColumn& column : indices) bytes += column.size_bytes();
  return bytes;
}

void CooTensor::resize(std::size_t num_entries) {
  for (std::size_t mode = 0; mode < order(); ++mode) {
    indices[mode].resize(num_entries, sizes[mode] - 1);
  }
  values.resize(num_entries);
}

void CooTensor::append(std::span<const std::uint64_t> index, double value) {
  TANDEM_CHECK_OP(index.size(), ==, order());
  const std::size_t entry = num_entries();
  resize(entry + 1);
  for (std::size_t mode = 0; mode < order(); ++mode) {
    TANDEM_CHECK_OP(index[mode], <, sizes[mode]);
    indices[mode].set(entry, index[mode]);
  }
  values[entry] = value;
}

bool CooTensor::operator==(const CooTensor& other) const {
  return sizes == other.sizes && indices == other.indices &&
         std::equal(values.begin(), values.end(), other.values.begin(), other.values.end());
}

double num_cells(std::span<const std::uint64_t> sizes) {
  double cells = 1;
  for (const std::uint64_t size : sizes) cells *= static_cast<double>(size);
  return std::min(cells, std::numeric_limits<double>::max());
}

int index_bits(std::uint64_t size) { return static_cast<int>(std::bit_width(size - 1)); }

}  // namespace tandem::sparse
