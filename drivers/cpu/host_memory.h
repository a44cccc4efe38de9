// SPDX-License-Identifier: Apache-2.0
//
// Memory of the CPU device: anonymous mappings in huge pages for KV pools, aligned blocks for
// activations, and the amount that is available.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "device/buffer.h"

namespace tandem::device::cpu {

// Two mappings bound to different nodes share no huge page.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Zero-filled memory that is allocated when it is first written; in huge pages if the system has
// them. A mapping of at least one huge page begins at a huge page. Throws Error if the address
// space is exhausted.
class Mapping {
 public:
  explicit Mapping(std::size_t size_bytes);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  std::size_t size_bytes_;
  std::byte* data_ = nullptr;
};

// Aligned to 64 bytes, zero-filled; device and host memory are the same here.
class HostBuffer final : public Buffer {
 public:
  explicit HostBuffer(std::size_t size_bytes);
  std::size_t size_bytes() const override { return size_bytes_; }
  std::span<std::byte> host() override { return {data_.get(), size_bytes_}; }
  std::byte* address() override { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::size_t size_bytes_;
  std::unique_ptr<std::byte, Free> data_;
};

std::uint64_t total_memory_bytes();

// Memory that can be allocated without swapping, within the limits of the control group. The page
// cache counts as available, because the system drops it.
std::uint64_t available_memory_bytes();

// Throws Error if `size_bytes` more are not available. Without this check, the system would kill
// the process when it writes all of a Mapping. `what` names the user of the memory.
void require_memory(std::uint64_t size_bytes, const std::string& what);

}  // namespace tandem::device::cpu
