// SPDX-License-Identifier: Apache-2.0
//
// Memory of the CPU device: mmap with huge pages, and what common/available_memory.h finds.
#include "cpu/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "common/available_memory.h"
#include "common/error.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

Mapping::Mapping(std::size_t size_bytes) : size_bytes_(std::max<std::size_t>(size_bytes, 1)) {
  const std::size_t spare = size_bytes_ < kHugePageBytes ? 0 : kHugePageBytes;
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t used = (size_bytes_ + page - 1) / page * page;
  void* mapped = mmap(nullptr, used + spare, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    throw Error("cpu", "cannot reserve " + std::to_string(size_bytes_ >> 20) +
                           " MiB of memory; use fewer KV pages or a smaller model");
  }
  data_ = static_cast<std::byte*>(mapped);
  if (spare != 0) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(data_) % kHugePageBytes;
    const std::size_t before = past == 0 ? 0 : kHugePageBytes - past;
    if (before != 0) munmap(data_, before);
    data_ += before;
    if (before != spare) munmap(data_ + used, spare - before);
  }
  madvise(data_, size_bytes_, MADV_HUGEPAGE);  // a failure is harmless: 4 KiB pages work, too
}

Mapping::~Mapping() { munmap(data_, size_bytes_); }

HostBuffer::HostBuffer(std::size_t size_bytes) : size_bytes_(size_bytes) {
  const std::size_t rounded = (std::max<std::size_t>(size_bytes, 1) + kLine - 1) / kLine * kLine;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(kLine, rounded)));
  if (!data_) throw Error("cpu", "out of memory: " + std::to_string(rounded) + " bytes");
  std::memset(data_.get(), 0, rounded);
}

std::uint64_t total_memory_bytes() { return available_memory().total_bytes; }

std::uint64_t available_memory_bytes() { return available_memory().left_bytes; }

void require_memory(std::uint64_t size_bytes, const std::string& what) {
  const std::uint64_t available = available_memory_bytes();
  if (size_bytes <= available) return;
  throw Error("cpu", what + " needs " + std::to_string(size_bytes >> 20) + " MiB of memory, of " +
                         std::to_string(available >> 20) +
                         " MiB available; use a smaller KV cache, fewer bits per weight or a "
                         "smaller model");
}

}  // namespace tandem::device::cpu
