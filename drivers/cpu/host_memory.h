// SPDX-License-Identifier: Apache-2.0
//
// Memory of the CPU device: anonymous mappings in huge pages for KV pools, aligned blocks for
// activations, and what the machine has left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "device/buffer.h"

namespace tandem::device::cpu {

// Neighbours of which one is bound to another node share none.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Zero-filled memory that costs nothing until it is written; huge pages where the system gives
// them, and what is as large as one begins at the border of one. Throws Error when the address
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

// What can still be allocated without swapping, within the limits of the control group. Copies of
// files that the system keeps count as available: it drops them.
std::uint64_t available_memory_bytes();

// Throws Error when `size_bytes` more are not available: a Mapping that is going to be written in
// full would end the process instead. `what` names it.
void require_memory(std::uint64_t size_bytes, const std::string& what);

}  // namespace tandem::device::cpu
