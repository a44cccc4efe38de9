// SPDX-License-Identifier: Apache-2.0
//
// PackedWeight: which worker packs which panels.
#include "cpu/packed_weight.h"

#include <algorithm>

#include "cpu/kernels/quantized_panel.h"
#include "cpu/kernels/quantized_products.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kPartBytes = std::size_t{256} << 10;

// Whole groups, so that every region but the last ends with one.
std::size_t panels_per_part(std::size_t panel_bytes) {
  return std::max<std::size_t>(1, kPartBytes / (panel_bytes * kPanelGroup)) * kPanelGroup;
}

std::size_t checked(std::size_t size_bytes) {
  require_memory(size_bytes, "a packed weight");
  return size_bytes;
}

}  // namespace

PackedWeight::PackedWeight(const WeightSource& source, Team& team)
    : num_panels_((source.out_features + kPanelOutputs - 1) / kPanelOutputs),
      panel_bytes_(packed_format(source.dtype).panel_bytes(source.in_features / kBlockInputs)),
      memory_(checked(num_panels_ * panel_bytes_)),
      regions_(team.regions(tiling::box_of<1>({static_cast<std::int64_t>(num_panels_)}),
                            {static_cast<std::int64_t>(panels_per_part(panel_bytes_))})) {
  const auto outputs = static_cast<std::size_t>(source.out_features);
  const auto in_features = static_cast<std::size_t>(source.in_features);
  const std::size_t row_bytes = dtype_row_bytes(source.dtype, in_features);
  team.place(regions_, [&](const tiling::Box<1>& part, std::size_t) {
    for (auto panel = static_cast<std::size_t>(part.lower[0]);
         panel < static_cast<std::size_t>(part.upper[0]); ++panel) {
      const std::size_t first = panel * kPanelOutputs;
      const StoredRows rows{source.dtype, source.data + first * row_bytes,
                            std::min(kPanelOutputs, outputs - first), in_features};
      pack_quantized_panel(rows, memory_.data() + panel * panel_bytes_);
    }
  });
}

}  // namespace tandem::device::cpu
