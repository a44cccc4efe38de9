// SPDX-License-Identifier: Apache-2.0
//
// SparseWeight: a matrix with many zeros as rows without them (kernels/sparse_products).
//
// Quantised values are kept as f16, whose rounding is below that of their blocks, or as f32 where
// f16 has no range for them. Making it reads the source twice: the values of a row are counted,
// then packed. Memory is in huge pages if possible; every NUMA node packs, and so holds, its region
// of the rows. The source is not needed afterwards. Threads: constant once made. Errors: Error when
// the memory is not available.
#pragma once

#include <optional>
#include <vector>

#include "cpu/host_memory.h"
#include "cpu/team.h"
#include "device/compute_unit.h"

namespace tandem::device::cpu {

// Whether the unit has products for such a matrix without zeros: f32, f16, bf16 or a quantised
// type, a matrix, and at most 65535 inputs.
bool can_be_sparse(const WeightSource& source);

// The part of the values that are zero, from 64 rows spread over the matrix. can_be_sparse() must
// be true.
double sampled_zeros(const WeightSource& source);

// The bytes of a value of the whole matrix that a SparseWeight with this part of zeros takes.
double sparse_value_bytes(DType dtype, double zeros);

class SparseWeight {
 public:
  // can_be_sparse() must be true of the source.
  SparseWeight(const WeightSource& source, Team& team);

  const std::byte* rows() const { return memory_->data(); }
  const std::uint64_t* starts() const { return starts_.data(); }  // [outputs + 1]
  std::size_t size_bytes() const { return starts_.back(); }
  DType dtype() const { return dtype_; }   // of the values that are kept
  double zeros() const { return zeros_; }  // the part of the values

  // The greatest number of rows of activations for which the kernel for few rows is faster.
  std::size_t few_rows() const;

  // The regions of rows: one per node, in the node's memory.
  const tiling::Regions<1>& regions() const { return regions_; }

 private:
  // The values that are not zero in each row, as dtype_. Returns the greatest magnitude of
  // quantised values.
  float count(const WeightSource& source, Team& team, std::vector<std::uint32_t>& counts) const;

  DType dtype_;
  std::vector<std::uint64_t> starts_;
  double zeros_ = 0;
  std::optional<Mapping> memory_;
  tiling::Regions<1> regions_;
};

}  // namespace tandem::device::cpu
