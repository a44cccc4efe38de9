// SPDX-License-Identifier: Apache-2.0
//
// Sorts with the major mode first, then finds where each major index begins.
#include "tensor/sparse/formats/compressed_matrix.h"

#include <algorithm>
#include <string>

#include "common/error.h"
#include "tensor/sparse/formats/entry_order.h"
#include "tensor/sparse/formats/radix_sort.h"

namespace tandem::sparse {
namespace {

constexpr std::uint64_t kMostMajors = std::uint64_t{1} << 32;

// Exchanges rows and columns.
CooTensor transposed(CooTensor matrix) {
  std::swap(matrix.sizes[0], matrix.sizes[1]);
  std::swap(matrix.indices[0], matrix.indices[1]);
  return matrix;
}

// majors: ascending. begins[m]: the first entry of major m or of a later one.
RawVector<std::uint64_t> begins_of(const IndexColumn& majors, std::uint64_t num_majors,
                                   ThreadPool& pool) {
  RawVector<std::uint64_t> begins(num_majors + 1);
  majors.visit([&](auto indices) {
    for_parts(begins.size(), pool, [&](std::size_t first, std::size_t last) {
      auto at = std::lower_bound(indices.begin(), indices.end(), first);
      for (std::size_t major = first; major < last; ++major) {
        while (at != indices.end() && *at < major) ++at;
        begins[major] = static_cast<std::uint64_t>(at - indices.begin());
      }
    });
  });
  return begins;
}

}  // namespace

std::optional<std::size_t> compressed_bytes(std::uint64_t major_size, std::uint64_t minor_size,
                                            std::size_t num_entries) {
  if (major_size > kMostMajors) return std::nullopt;
  const std::size_t index_bytes = index_bits(minor_size) > 32 ? 8 : 4;
  return (major_size + 1) * 8 + num_entries * (index_bytes + sizeof(double));
}

CompressedMatrix to_compressed(CooTensor matrix, Major major, ThreadPool& pool) {
  if (matrix.order() != 2) {
    throw Error("tensor", "rows and columns need a tensor of order 2; this one has order " +
                              std::to_string(matrix.order()));
  }
  const std::uint64_t num_majors = matrix.sizes[major == Major::kRows ? 0 : 1];
  if (num_majors > kMostMajors) {
    throw Error("tensor", "a matrix of " + std::to_string(num_majors) +
                              " rows or columns is not compressed along them: each would take 8 "
                              "bytes; at most 2^32 are possible");
  }
  CompressedMatrix result;
  result.rows = matrix.sizes[0];
  result.columns = matrix.sizes[1];
  result.major = major;
  if (major == Major::kColumns) matrix = transposed(std::move(matrix));
  sum_duplicates(matrix, pool);
  result.begins = begins_of(matrix.indices[0], matrix.sizes[0], pool);
  result.minors = std::move(matrix.indices[1]);
  result.values = std::move(matrix.values);
  return result;
}

CooTensor to_coo(const CompressedMatrix& matrix, ThreadPool& pool) {
  const bool by_rows = matrix.major == Major::kRows;
  CooTensor result(by_rows ? std::vector{matrix.rows, matrix.columns}
                           : std::vector{matrix.columns, matrix.rows});
  result.resize(matrix.values.size());
  for_parts(matrix.num_majors(), pool, [&](std::size_t first, std::size_t last) {
    for (std::size_t major = first; major < last; ++major) {
      for (std::uint64_t i = matrix.begins[major]; i < matrix.begins[major + 1]; ++i) {
        result.indices[0].set(i, major);
      }
    }
  });
  result.indices[1] = matrix.minors;
  result.values = matrix.values;
  if (by_rows) return result;
  result = transposed(std::move(result));
  sum_duplicates(result, pool);  // there are none: it sorts
  return result;
}

}  // namespace tandem::sparse
