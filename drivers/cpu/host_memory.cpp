// SPDX-License-Identifier: Apache-2.0
//
// Memory of the CPU device, from Linux: mmap with huge pages, /proc/meminfo, control groups v2.
#include "cpu/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include "common/error.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kLine = 64;

std::uint64_t meminfo_bytes(const std::string& field) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  for (std::uint64_t kilobytes = 0; file >> name >> kilobytes;
       file.ignore(std::numeric_limits<std::streamsize>::max(), '\n')) {
    if (name == field + ":") return kilobytes * 1024;
  }
  return 0;
}

// The number in a control-group file; absent or "max": no limit.
std::uint64_t group_bytes(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : std::numeric_limits<std::uint64_t>::max();
}

// The page cache of the group's processes, mostly mapped model files.
std::uint64_t files_in_group() {
  std::ifstream file("/sys/fs/cgroup/memory.stat");
  std::uint64_t bytes = 0;
  std::string name;
  for (std::uint64_t value = 0; file >> name >> value;) {
    if (name == "inactive_file" || name == "active_file") bytes += value;
  }
  return bytes;
}

}  // namespace

Mapping::Mapping(std::size_t size_bytes) : size_bytes_(std::max<std::size_t>(size_bytes, 1)) {
  const std::size_t spare = size_bytes_ < kHugePageBytes ? 0 : kHugePageBytes;
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t used = (size_bytes_ + page - 1) / page * page;
  void* mapped = mmap(nullptr, used + spare, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    throw Error("cpu", "cannot reserve " + std::to_string(size_bytes_ >> 20) +
                           " MiB of memory; ask for fewer KV pages or a smaller model");
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

std::uint64_t total_memory_bytes() {
  return std::min(meminfo_bytes("MemTotal"), group_bytes("/sys/fs/cgroup/memory.max"));
}

std::uint64_t available_memory_bytes() {
  const std::uint64_t limit = group_bytes("/sys/fs/cgroup/memory.max");
  std::uint64_t in_group = limit;
  if (limit != std::numeric_limits<std::uint64_t>::max()) {
    const std::uint64_t files = files_in_group();
    const std::uint64_t used = group_bytes("/sys/fs/cgroup/memory.current");
    in_group -= std::min(limit, used - std::min(used, files));
  }
  return std::min(meminfo_bytes("MemAvailable"), in_group);
}

void require_memory(std::uint64_t size_bytes, const std::string& what) {
  const std::uint64_t available = available_memory_bytes();
  if (size_bytes <= available) return;
  throw Error("cpu", what + " needs " + std::to_string(size_bytes >> 20) + " MiB of memory, of " +
                         std::to_string(available >> 20) +
                         " MiB available; use a smaller KV cache, fewer bits per weight or a "
                         "smaller model");
}

}  // namespace tandem::device::cpu
