// SPDX-License-Identifier: Apache-2.0
//
// The old buffer is freed before the new one is allocated.
#include "xrt/card/mapped_buffer.h"

#include <algorithm>
#include <bit>

#include "xrt/card/card_runs.h"

namespace tandem::device::xrt_card {

void MappedBuffer::allocate(const xrt::device& device, std::size_t bytes, int memory_group) {
  *this = {};
  // XRT takes host memory of this size by aligned_alloc(), which wants a multiple of the alignment.
  const std::size_t pages = (bytes + kSmallestBufferBytes - 1) / kSmallestBufferBytes;
  xrt::bo fresh(device, pages * kSmallestBufferBytes, memory_group);
  host = {fresh.map<std::byte*>(), bytes};
  buffer = std::move(fresh);
}

bool MappedBuffer::grow(const xrt::device& device, std::size_t bytes, int memory_group,
                        std::uint64_t memory_bytes) {
  if (bytes <= host.size()) return false;
  const std::size_t room = memory_bytes / 16 * 15 / kSmallestBufferBytes * kSmallestBufferBytes;
  const std::size_t doubled = std::bit_ceil(std::max(bytes, kSmallestBufferBytes));
  allocate(device, doubled <= room ? doubled : std::max(bytes, room), memory_group);
  return true;
}

}  // namespace tandem::device::xrt_card
