// SPDX-License-Identifier: Apache-2.0
//
// The attention kernels, built for one geometry: page layout and kernel width.
//
// KernelShape follows from the device's preferred vector width: a CPU takes one work-item per group
// and wide vectors, a GPU many work-items and one lane. PageLayout describes a page of one layer
// (see kernels/attention.cl). `decode` handles up to min(group, 8) query vectors per read of K and
// V; `chunk` handles 8, for sequences with several query tokens (absent if decode handles 8).
// Errors: DeviceError with the compiler's log.
#pragma once

#include <cstddef>

#include "opencl/session.h"

namespace tandem::opencl {

struct KernelShape {
  int local_size = 1;    // work-items of a group, a power of two
  int vector_width = 1;  // lanes, a power of two up to 16
  int work_groups = 1;   // how many groups keep the device busy
};

KernelShape kernel_shape_for(const cl::Device& device);

struct PageLayout {
  int head_stride = 0;              // head_dim, padded to the lanes of a row of V
  int token_lanes = 1;              // the constant VT of the kernels
  int row_lanes = 1;                // the constant VD of the kernels
  std::size_t element_bytes = 0;    // of one value of K or V
  std::size_t v_at_bytes = 0;       // K [kv_heads, head_dim, page_tokens] is at 0
  std::size_t scales_at_bytes = 0;  // [2, kv_heads, page_tokens] f32, kI8 only
  std::size_t page_bytes = 0;       // of one layer, a multiple of 64
};

PageLayout page_layout(const device::AttentionGeometry& geometry, const KernelShape& shape);

// One build of the attend kernel.
struct AttendKernel {
  cl::Kernel kernel;
  int queries = 1;  // query vectors per group
};

struct AttentionProgram {
  cl::Kernel append, merge;
  AttendKernel decode, chunk;  // the same build where decode.queries is kMaxQueries
};

inline constexpr int kMaxQueries = 8;

AttentionProgram build_attention_program(const Session& session,
                                         const device::AttentionGeometry& geometry,
                                         const KernelShape& shape);

}  // namespace tandem::opencl
