// SPDX-License-Identifier: Apache-2.0
//
// SparseWeight: a matrix with many zeros, stored as rows of non-zeros (kernels/sparse_products).
//
// Quantised values are kept as f16, which rounds less than their blocks did, or as f32 if they are
// outside the range of f16. The constructor counts the non-zeros of every row, then packs them; it
// does not keep the source. Memory is in huge pages if possible. Every NUMA node packs its region
// of the rows, which places the region in its memory. Threads: constant once made. Errors: Error
// when the memory is not available.
#pragma once

#include <optional>
#include <vector>

#include "cpu/host_memory.h"
#include "cpu/team.h"
#include "device/compute_unit.h"

namespace tandem::device::cpu {

// Whether a SparseWeight can hold the source: f32, f16, bf16 or a quantised type, more than one
// output, and at most 65535 inputs.
bool can_be_sparse(const WeightSource& source);

// The share of zeros among the values of 64 rows that are spread over the matrix. can_be_sparse()
// must be true.
double sampled_zeros(const WeightSource& source);

// The size of a SparseWeight with this share of zeros, in bytes per value of the whole matrix.
double sparse_value_bytes(DType dtype, double zeros);

class SparseWeight {
 public:
  // can_be_sparse() must be true of the source.
  SparseWeight(const WeightSource& source, Team& team);

  const std::byte* rows() const { return memory_->data(); }
  const std::uint64_t* starts() const { return starts_.data(); }  // [outputs + 1]
  std::size_t size_bytes() const { return starts_.back(); }
  DType dtype() const { return dtype_; }   // of the values that are kept
  double zeros() const { return zeros_; }  // their share of all values

  // The greatest number of rows of activations for which the kernel for few rows is faster.
  std::size_t few_rows() const;

  // The regions of rows: one per node, in the node's memory.
  const tiling::Regions<1>& regions() const { return regions_; }

 private:
  // Counts the non-zeros of each row, as dtype_. Returns the greatest magnitude of quantised
  // values.
  float count(const WeightSource& source, Team& team, std::vector<std::uint32_t>& counts) const;

  DType dtype_;
  std::vector<std::uint64_t> starts_;
  double zeros_ = 0;
  std::optional<Mapping> memory_;
  tiling::Regions<1> regions_;
};

}  // namespace tandem::device::cpu
