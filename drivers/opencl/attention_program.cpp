// SPDX-License-Identifier: Apache-2.0
//
// Chooses the kernels' widths for a device and builds them with the geometry as macros.
//
// A work-item keeps QUERIES * BLOCKS score vectors in registers: 16 with 16 lanes (AVX-512 has 32
// registers) or on a GPU, else 8. Local memory of a group: at most 16 KiB.
#include "opencl/attention_program.h"

#include <algorithm>
#include <bit>

#include "opencl/kernel_sources.h"

namespace tandem::opencl {
namespace {

constexpr int kGpuGroup = 64;
constexpr int kGroupsPerComputeUnit = 4;

int floor_power_of_two(std::size_t value) { return static_cast<int>(std::bit_floor(value)); }

std::string macro(const char* name, std::size_t value) {
  return std::string("-D") + name + "=" + std::to_string(value) + " ";
}

std::string macros(const device::AttentionGeometry& g, const KernelShape& shape, int queries) {
  const PageLayout layout = page_layout(g, shape);
  const int accumulators = shape.vector_width == 16 || shape.local_size > 1 ? 16 : 8;
  const int blocks = std::max(1, floor_power_of_two(accumulators / queries));
  return macro("HEAD_DIM", g.head_dim) + macro("HEAD_STRIDE", layout.head_stride) +
         macro("PAGE_TOKENS", g.page_tokens) + macro("KV_HEADS", g.kv_heads) +
         macro("GROUP", g.q_heads / g.kv_heads) + macro("QUERIES", queries) +
         macro("LOCAL", shape.local_size) + macro("VT", layout.token_lanes) +
         macro("VD", layout.row_lanes) + macro("BLOCKS", std::min(blocks, 8)) +
         macro("KV_I8", g.kv_dtype == DType::kI8) +
         macro("PAGE_ELEMENTS", layout.page_bytes / layout.element_bytes) +
         macro("V_AT", layout.v_at_bytes / layout.element_bytes) +
         macro("SCALES_AT", layout.scales_at_bytes / sizeof(float));
}

}  // namespace

KernelShape kernel_shape_for(const cl::Device& device) {
  KernelShape shape;
  const auto lanes = device.getInfo<CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT>();
  shape.vector_width = std::clamp(floor_power_of_two(std::max(1u, lanes)), 1, 16);
  const auto group_limit = device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
  if (shape.vector_width == 1) {
    shape.local_size = std::min(kGpuGroup, floor_power_of_two(group_limit));
  }
  shape.work_groups =
      static_cast<int>(device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>()) * kGroupsPerComputeUnit;
  return shape;
}

PageLayout page_layout(const device::AttentionGeometry& g, const KernelShape& shape) {
  PageLayout layout;
  layout.element_bytes = dtype_block_bytes(g.kv_dtype);
  layout.token_lanes = std::min(shape.vector_width, g.page_tokens);
  layout.row_lanes = std::min<int>(shape.vector_width, std::bit_ceil(unsigned(g.head_dim)));
  layout.head_stride = (g.head_dim + layout.row_lanes - 1) / layout.row_lanes * layout.row_lanes;
  const auto align = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  const std::size_t rows = static_cast<std::size_t>(g.kv_heads) * g.page_tokens;
  layout.v_at_bytes = align(rows * g.head_dim * layout.element_bytes);
  layout.scales_at_bytes =
      align(layout.v_at_bytes + rows * layout.head_stride * layout.element_bytes);
  const std::size_t scales = g.kv_dtype == DType::kI8 ? 2 * rows * sizeof(float) : 0;
  layout.page_bytes = align(layout.scales_at_bytes + scales);
  return layout;
}

AttentionProgram build_attention_program(const Session& session,
                                         const device::AttentionGeometry& geometry,
                                         const KernelShape& shape) {
  const int queries = std::min(geometry.q_heads / geometry.kv_heads, kMaxQueries);
  const cl::Program decode =
      build_program(session, kAttentionSource, macros(geometry, shape, queries));
  const cl::Program chunk =
      queries == kMaxQueries
          ? decode
          : build_program(session, kAttentionSource, macros(geometry, shape, kMaxQueries));
  AttentionProgram program;
  program.append = cl::Kernel(decode, "append");
  program.merge = cl::Kernel(decode, "merge");
  program.decode = {cl::Kernel(decode, "attend"), queries};
  program.chunk = {cl::Kernel(chunk, "attend"), kMaxQueries};
  return program;
}

}  // namespace tandem::opencl
