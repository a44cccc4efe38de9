// SPDX-License-Identifier: Apache-2.0
//
// CompressedMatrix: a sparse matrix by rows (CSR) or by columns (CSC).
//
// "Major" is the compressed dimension: rows for CSR, columns for CSC. Minor indices ascend within
// each major one. Conversions sum duplicates, keep stored zeros, and are exact: to_coo(to_csr(x))
// is x in lexicographic order. Cost: a radix sort. Threads: one caller; `pool` runs the parts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/raw_vector.h"
#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

enum class Major : std::uint8_t { kRows, kColumns };

struct CompressedMatrix {
  std::uint64_t rows = 0, columns = 0;
  Major major = Major::kRows;
  RawVector<std::uint64_t> begins;  // [majors + 1]
  IndexColumn minors;               // [num_entries]
  RawVector<double> values;         // [num_entries]

  std::uint64_t num_majors() const { return major == Major::kRows ? rows : columns; }
};

// The bytes that the matrix takes in memory; nullopt for more majors than to_compressed() accepts.
// major_size, minor_size: sizes of the two modes.
std::optional<std::size_t> compressed_bytes(std::uint64_t major_size, std::uint64_t minor_size,
                                            std::size_t num_entries);

// Throws Error for a tensor that is not of order 2, and for more than 2^32 major indices.
CompressedMatrix to_compressed(CooTensor matrix, Major major, ThreadPool& pool);
CooTensor to_coo(const CompressedMatrix& matrix, ThreadPool& pool);

}  // namespace tandem::sparse
