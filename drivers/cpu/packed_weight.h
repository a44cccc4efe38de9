// SPDX-License-Identifier: Apache-2.0
//
// PackedWeight: a matrix in the order of the product kernels. Quantised:
// kernels/quantized_products/packed_format.h; bf16: kernels/float_products/bf16_panel.h; e4m3 with
// its scales: kernels/float_products/f8_panel.h.
//
// Packing reads every byte once and writes about as many, in parts over the team. Memory is in huge
// pages if possible; every NUMA node packs, and so holds, its region of the panels. The source is
// not needed afterwards. Cost: about 0.3 s for a file of 1 GB on two cores. Threads: constant once
// made. Errors: Error when the memory is not available.
#pragma once

#include "cpu/host_memory.h"
#include "cpu/kernels/quantized_products/packed_format.h"
#include "cpu/team.h"
#include "device/compute_unit.h"

namespace tandem::device::cpu {

// Whether matrices of this type are packed for products.
bool packs_for_products(DType dtype);
// Whether matrices of this type are multiplied with rows of bf16, in panels of kBf16PanelOutputs.
inline bool multiplies_bf16_rows(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF8E4M3;
}

class PackedWeight {
 public:
  // packs_for_products() must be true of the source's type. Its rows are whole blocks.
  PackedWeight(const WeightSource& source, Team& team);

  const std::byte* panels() const { return memory_.data(); }
  std::size_t num_panels() const { return num_panels_; }
  std::size_t panel_bytes() const {
    return panel_bytes_;
  }  // of a whole panel; the last may have fewer
  std::size_t panel_outputs() const { return panel_outputs_; }

  // The regions of panels: one per node, in the node's memory, cut between groups of panels.
  const tiling::Regions<1>& regions() const { return regions_; }

 private:
  std::size_t panel_outputs_, num_panels_, panel_bytes_;
  Mapping memory_;
  tiling::Regions<1> regions_;
};

}  // namespace tandem::device::cpu
