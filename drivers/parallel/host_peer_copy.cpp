// SPDX-License-Identifier: Apache-2.0
//
// Copies through host memory: wait, copy on the host, enqueue the copy into device memory.
#include "parallel/host_peer_copy.h"

#include <chrono>
#include <cstring>

#include "common/error.h"

namespace tandem::device::parallel {
namespace {

// Work between two copies takes milliseconds. After this time the unit counts as failed.
constexpr auto kTimeout = std::chrono::minutes(10);

std::byte* host_bytes(const Slice& slice) {
  return slice.buffer->host().data() + slice.offset_bytes;
}

bool in_host_memory(const Slice& slice) { return !slice.buffer->host().empty(); }

}  // namespace

void finish(ComputeUnit& unit) {
  if (unit.wait(unit.record(), Deadline::after(kTimeout)) == WaitResult::kDone) return;
  throw DeviceError("parallel", "a unit was lost, or did not finish within 10 minutes");
}

Slice StagingBuffers::of(int unit, std::size_t size_bytes) {
  const auto index = static_cast<std::size_t>(unit);
  std::unique_ptr<Buffer>& buffer = buffers_[index];
  if (!buffer || buffer->size_bytes() < size_bytes) {
    if (buffer) finish(*units_[index]);
    buffer.reset();
    buffer = units_[index]->allocate(size_bytes, MemoryKind::kHost);
  }
  return {buffer.get(), 0};
}

void HostPeerCopy::copy(int from_unit, const Slice& from, int to_unit, const Slice& to,
                        std::size_t size_bytes) {
  if (size_bytes == 0) return;
  ComputeUnit &source = *units_[static_cast<std::size_t>(from_unit)],
              &target = *units_[static_cast<std::size_t>(to_unit)];
  Slice sent = from, received = to;
  if (!in_host_memory(from)) {
    sent = staging_.of(from_unit, size_bytes);
    source.enqueue(CopyOp{size_bytes, from, sent});
  }
  if (!in_host_memory(to)) received = staging_.of(to_unit, size_bytes);
  finish(source);
  finish(target);
  std::memcpy(host_bytes(received), host_bytes(sent), size_bytes);
  if (!in_host_memory(to)) target.enqueue(CopyOp{size_bytes, received, to});
}

void HostPeerCopy::order(int earlier, int) { finish(*units_[static_cast<std::size_t>(earlier)]); }

}  // namespace tandem::device::parallel
