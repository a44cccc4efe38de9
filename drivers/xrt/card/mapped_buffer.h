// SPDX-License-Identifier: Apache-2.0
//
// MappedBuffer: a buffer of a card with its mapping, which grows by doubling.
//
// Ownership: the buffer is freed with the object. Threads: one. Errors: those of XRT; after one the
// object is empty.
#pragma once

#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tandem::device::xrt_card {

struct MappedBuffer {
  xrt::bo buffer;
  std::span<std::byte> host;

  // If the buffer is smaller than `bytes`, replaces it by one of at least twice the size, limited
  // by the size of the memory. True if it was replaced: the caller must then set the arguments of
  // runs again.
  bool grow(const xrt::device& device, std::size_t bytes, int memory_group,
            std::uint64_t memory_bytes);

  void allocate(const xrt::device& device, std::size_t bytes, int memory_group);
};

}  // namespace tandem::device::xrt_card
