// SPDX-License-Identifier: Apache-2.0
//
// PackedWeight: which worker packs which panels.
#include "cpu/packed_weight.h"

#include <algorithm>

#include "cpu/kernels/float_products/bf16_panel.h"
#include "cpu/kernels/float_products/f8_panel.h"
#include "cpu/kernels/quantized_products/quantized_panel.h"
#include "cpu/kernels/quantized_products/quantized_products.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kPartBytes = std::size_t{256} << 10;

std::size_t panel_outputs_of(DType dtype) {
  return multiplies_bf16_rows(dtype) ? kBf16PanelOutputs : kPanelOutputs;
}

std::size_t scales_of_output(const WeightSource& source) {
  return static_cast<std::size_t>(source.scales ? source.scales.per_row(source.in_features) : 1);
}

// Of panels whose outputs are `outputs`.
std::size_t packed_bytes(const WeightSource& source, std::size_t outputs) {
  const DType dtype = source.dtype;
  const auto in_features = static_cast<std::size_t>(source.in_features);
  if (dtype == DType::kBF16) return bf16_panels_bytes(outputs, in_features);
  if (dtype == DType::kF8E4M3) {
    const std::size_t last = outputs % kBf16PanelOutputs, scales = scales_of_output(source);
    return outputs / kBf16PanelOutputs * f8_panel_bytes(kBf16PanelOutputs, in_features, scales) +
           (last == 0 ? 0 : f8_panel_bytes(last, in_features, scales));
  }
  const std::size_t panels = (outputs + kPanelOutputs - 1) / kPanelOutputs;
  return panels * packed_format(dtype).panel_bytes(in_features / kBlockInputs);
}

// Whole groups, so that every region but the last ends with one.
std::size_t panels_per_part(DType dtype, std::size_t panel_bytes) {
  const std::size_t group = multiplies_bf16_rows(dtype) ? 1 : kPanelGroup;
  return std::max<std::size_t>(1, kPartBytes / (panel_bytes * group)) * group;
}

std::size_t checked(std::size_t size_bytes) {
  require_memory(size_bytes, "a packed weight");
  return size_bytes;
}

}  // namespace

bool packs_for_products(DType dtype) {
  return multiplies_bf16_rows(dtype) || packed_format(dtype).code_bits != 0;
}

PackedWeight::PackedWeight(const WeightSource& source, Team& team)
    : panel_outputs_(panel_outputs_of(source.dtype)),
      num_panels_((source.out_features + panel_outputs_ - 1) / panel_outputs_),
      panel_bytes_(packed_bytes(source, panel_outputs_)),
      memory_(checked(packed_bytes(source, static_cast<std::size_t>(source.out_features)))),
      regions_(
          team.regions(tiling::box_of<1>({static_cast<std::int64_t>(num_panels_)}),
                       {static_cast<std::int64_t>(panels_per_part(source.dtype, panel_bytes_))})) {
  const auto outputs = static_cast<std::size_t>(source.out_features);
  const auto in_features = static_cast<std::size_t>(source.in_features);
  const std::size_t row_bytes = dtype_row_bytes(source.dtype, in_features);
  team.place(regions_, [&](const tiling::Box<1>& part, std::size_t) {
    for (auto panel = static_cast<std::size_t>(part.lower[0]);
         panel < static_cast<std::size_t>(part.upper[0]); ++panel) {
      const std::size_t first = panel * panel_outputs_;
      const StoredRows rows{source.dtype, source.data + first * row_bytes,
                            std::min(panel_outputs_, outputs - first), in_features};
      std::byte* to = memory_.data() + panel * panel_bytes_;
      if (source.dtype == DType::kBF16) {
        pack_bf16_panel(rows.data, rows.outputs, in_features, to);
      } else if (source.dtype == DType::kF8E4M3) {
        pack_f8_panel({rows.data, rows.outputs, in_features, first, source.scales}, to);
      } else {
        pack_quantized_panel(rows, to);
      }
    }
  });
}

}  // namespace tandem::device::cpu
