// SPDX-License-Identifier: Apache-2.0
//
// Staging buffers, and the copy of results to the caller's rows.
//
// Buffers grow by doubling. Rows that attend to nothing get their result here, without the device.
#include "opencl/batch_slot.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace tandem::opencl {
namespace {

constexpr std::chrono::seconds kMappingPatience{1};

}  // namespace

StagedBuffer::~StagedBuffer() { unmap(); }

void StagedBuffer::unmap() {
  if (mapped_ == nullptr) return;
  try {
    cl::Event unmapped;
    session_.mapping.enqueueUnmapMemObject(pinned_, mapped_, nullptr, &unmapped);
    session_.mapping.flush();
    // A device that does not answer in time keeps the buffer alive until it does.
    (void)wait_for_event(unmapped, Deadline::after(kMappingPatience));
  } catch (const cl::Error&) {
    // The device is lost, and the mapping with it.
  }
  mapped_ = nullptr;
}

void StagedBuffer::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  unmap();
  bytes_ = 0;
  const std::size_t grown = std::bit_ceil(std::max<std::size_t>(bytes, 4096));
  device_ = cl::Buffer(session_.context, CL_MEM_READ_WRITE, grown);
  pinned_ = cl::Buffer(session_.context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, grown);
  cl::Event mapped;
  mapped_ = session_.mapping.enqueueMapBuffer(pinned_, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                              grown, nullptr, &mapped);
  session_.mapping.flush();
  if (wait_for_event(mapped, Deadline::after(kMappingPatience)) != device::WaitResult::kDone) {
    throw cl::Error(CL_MAP_FAILURE, "clEnqueueMapBuffer");
  }
  bytes_ = grown;
}

void BatchSlot::begin(const device::AttentionGeometry& geometry, int head_stride, BatchPlan plan,
                      const device::AttentionBatch& batch, device::AttentionPartial out) {
  plan_ = std::move(plan);
  events.clear();
  out_ = out;
  const std::size_t heads = static_cast<std::size_t>(plan_.q_rows) * geometry.q_heads;
  lse_at_ = static_cast<std::uint32_t>(heads * head_stride);
  input_bytes_ = plan_.input_words(geometry) * sizeof(std::uint32_t);
  result_bytes_ = heads * (head_stride + 1) * sizeof(float);
  input_.reserve(input_bytes_);
  result_.reserve(result_bytes_);
  pack_input(geometry, plan_, batch,
             {static_cast<std::uint32_t*>(input_.host()), input_bytes_ / sizeof(std::uint32_t)});
}

device::WaitResult BatchSlot::wait(Deadline deadline) const {
  return wait_for_events(events, deadline);
}

void BatchSlot::finish(const device::AttentionGeometry& g, int head_stride) {
  const auto* o = static_cast<const float*>(result_.host());
  const float* lse = o + lse_at_;
  const auto heads = static_cast<std::size_t>(g.q_heads);
  const auto head_dim = static_cast<std::size_t>(g.head_dim);
  for (const RowRange& rows : plan_.queries) {
    const std::size_t from = rows.compact_row * heads, to = rows.caller_row * heads;
    for (std::size_t i = 0; i < rows.num_rows * heads; ++i) {
      std::copy_n(o + (from + i) * head_stride, head_dim, out_.o.data() + (to + i) * head_dim);
    }
    std::copy_n(lse + from, rows.num_rows * heads, out_.lse.data() + to);
  }
  for (const RowRange& rows : plan_.unanswered) {
    const std::size_t to = rows.caller_row * heads;
    std::fill_n(out_.o.data() + to * head_dim, rows.num_rows * heads * head_dim, 0.0f);
    std::fill_n(out_.lse.data() + to, rows.num_rows * heads,
                -std::numeric_limits<float>::infinity());
  }
}

}  // namespace tandem::opencl
